//! A proxy of the user's, as a command line.

use std::process::Command;

use super::Place;
use crate::Error;

/// How it is started: words are separated by blanks, and these stand for what changes.
pub(super) fn command(line: &str, place: &Place<'_>) -> Result<Command, Error> {
    let mut words = line.split_whitespace().map(|word| fill(word, place));
    let Some(program) = words.next() else {
        return Err(Error::Value {
            value: line.to_owned(),
            expected: "a command line",
        });
    };
    let mut command = Command::new(program);
    command.args(words);
    Ok(command)
}

fn fill(word: &str, place: &Place<'_>) -> String {
    let (listen, upstream) = (place.listen.to_string(), place.upstream.to_string());
    let mut word = word
        .replace("{listen}", &listen)
        .replace("{upstream}", &upstream);
    if let Some(certificate) = place.certificate {
        word = word
            .replace("{cert}", &certificate.chain.to_string_lossy())
            .replace("{key}", &certificate.key.to_string_lossy());
    }
    word
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::SCENARIOS;

    #[test]
    fn ports_stand_where_the_words_say() {
        let place = Place {
            listen: 11,
            upstream: 22,
            folder: Path::new("."),
            certificate: None,
            scenario: &SCENARIOS[0],
        };
        let command = command(
            "socat TCP-LISTEN:{listen},fork TCP:localhost:{upstream}",
            &place,
        );
        let command = command.unwrap();
        assert_eq!(command.get_program(), "socat");
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["TCP-LISTEN:11,fork", "TCP:localhost:22"]);
        assert!(super::command("  ", &place).is_err());
    }
}
