//! Medians, ranges and percentiles.

/// The middle of some figures and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The median.
    pub(crate) median: f64,
    /// The least.
    pub(crate) least: f64,
    /// The greatest.
    pub(crate) greatest: f64,
}

impl Spread {
    /// The spread of these figures; none of none.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let (least, greatest) = (*figures.first()?, *figures.last()?);
        let upper = *figures.get(figures.len() / 2)?;
        let lower = *figures.get((figures.len() - 1) / 2)?;
        Some(Self {
            median: f64::midpoint(lower, upper),
            least,
            greatest,
        })
    }
}

/// The least of the values that so many thousandths of all are not above; the values are sorted.
pub(crate) fn permille(sorted: &[u32], thousandths: usize) -> Option<u32> {
    let rank = (sorted.len() * thousandths).div_ceil(1_000);
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two_in_the_middle() {
        let of = |figures: &[f64]| Spread::of(figures.iter().copied());
        assert_eq!(of(&[]), None);
        let odd = of(&[3.0, 1.0, 20.0]).unwrap();
        assert_eq!((odd.median, odd.least, odd.greatest), (3.0, 1.0, 20.0));
        assert_eq!(of(&[4.0, 1.0, 2.0, 9.0]).unwrap().median, 3.0);
        assert_eq!(of(&[7.0]).unwrap().median, 7.0);
    }

    #[test]
    fn a_percentile_is_a_value_that_was_seen() {
        let values: Vec<u32> = (1..=1_000).collect();
        assert_eq!(permille(&values, 500), Some(500));
        assert_eq!(permille(&values, 990), Some(990));
        assert_eq!(permille(&values, 999), Some(999));
        assert_eq!(permille(&[5, 6, 7], 500), Some(6));
        assert_eq!(permille(&[5, 6, 7], 999), Some(7));
        assert_eq!(permille(&[5, 6, 7], 0), Some(5));
        assert_eq!(permille(&[], 500), None);
    }
}
