//! Tables as text.

/// How a table looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Columns of equal width.
    Plain,
    /// Markdown.
    Markdown,
}

/// A table: a head and rows of as many cells.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this head.
    pub(crate) fn new(head: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            rows: vec![head.into_iter().map(Into::into).collect()],
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text, with a line break after each row.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut text = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            match style {
                Style::Plain => text += &self.plain(row),
                Style::Markdown => text += &format!("| {} |", row.join(" | ")),
            }
            text.push('\n');
            if at == 0 && style == Style::Markdown {
                let others = row.len().saturating_sub(1);
                text += &format!("| --- |{}\n", " ---: |".repeat(others));
            }
        }
        text
    }

    fn plain(&self, row: &[String]) -> String {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let others = self.rows.iter().filter_map(|row| row.get(column));
            let width = others.map(|cell| cell.chars().count()).max();
            let width = width.unwrap_or_default();
            if column == 0 {
                format!("{cell:width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        cells.collect::<Vec<_>>().join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["peer", "µs"]);
        table.row(["a".to_owned(), "10".to_owned()]);
        table.row(["longer".to_owned(), "9".to_owned()]);
        table
    }

    #[test]
    fn markdown_has_a_rule_below_its_head() {
        assert_eq!(
            table().text(Style::Markdown),
            "| peer | µs |\n| --- | ---: |\n| a | 10 |\n| longer | 9 |\n"
        );
    }

    #[test]
    fn plain_columns_are_as_wide_as_their_widest_cell() {
        assert_eq!(
            table().text(Style::Plain),
            "peer    µs\na       10\nlonger   9\n"
        );
    }
}
