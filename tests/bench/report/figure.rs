//! The figures that a sample gives.

use crate::runner::Sample;

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Processor time of the proxy for a message, in microseconds.
    CpuMicros,
    /// Processor time of the proxy for 10^9 octets, in seconds.
    CpuPerGb,
    /// Messages a second.
    Rate,
    /// 10^6 octets a second.
    Bandwidth,
    /// The median round trip, in microseconds.
    P50,
    /// What 99 of 100 round trips are not above.
    P99,
    /// What 999 of 1,000 round trips are not above.
    P999,
    /// Memory for an idle connection, in octets.
    Idle,
    /// The most memory in RAM, in MiB.
    Peak,
}

impl Figure {
    /// Its value; none where the sample has none.
    pub(crate) fn of(self, sample: &Sample) -> Option<f64> {
        let (messages, octets) = (sample.messages as f64, sample.octets as f64);
        let (elapsed, cpu) = (sample.elapsed.as_secs_f64(), sample.cpu);
        let micros = |at: usize| {
            let nanos = *sample.round_trip?.get(at)?;
            Some(f64::from(nanos) / 1e3)
        };
        match self {
            Self::CpuMicros => Some(cpu?.as_secs_f64() * 1e6 / messages),
            Self::CpuPerGb => Some(cpu?.as_secs_f64() * 1e9 / octets),
            Self::Rate => Some(messages / elapsed),
            Self::Bandwidth => Some(octets / elapsed / 1e6),
            Self::P50 => micros(0),
            Self::P99 => micros(1),
            Self::P999 => micros(2),
            Self::Idle => sample.idle,
            Self::Peak => Some(sample.peak? as f64 / f64::from(1 << 20)),
        }
    }

    /// The head of its column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::CpuMicros => "CPU µs a message",
            Self::CpuPerGb => "CPU s a GB",
            Self::Rate => "messages a second",
            Self::Bandwidth => "MB a second",
            Self::P50 => "p50 µs",
            Self::P99 => "p99 µs",
            Self::P999 => "p99.9 µs",
            Self::Idle => "octets an idle connection",
            Self::Peak => "peak MiB",
        }
    }

    /// What it is counted in, for a head that says already what it is.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::CpuMicros => "µs/msg",
            Self::CpuPerGb => "s/GB",
            Self::Rate => "msg/s",
            Self::Bandwidth => "MB/s",
            Self::P50 | Self::P99 | Self::P999 => "µs",
            Self::Idle => "B/connection",
            Self::Peak => "MiB",
        }
    }
}

/// A number with as many digits as mean something: three, or all of those before the point.
pub(crate) fn significant(number: f64) -> String {
    if number.abs() >= 100.0 {
        return grouped(number.round());
    }
    if number == 0.0 {
        return String::from("0");
    }
    let before = number.abs().log10().floor();
    let after = (2.0 - before).max(0.0) as usize;
    let text = format!("{number:.after$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A whole number in groups of three digits.
fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::from(if number < 0.0 { "-" } else { "" });
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (number, text) in [
            (0.0, "0"),
            (0.027_41, "0.0274"),
            (0.5, "0.5"),
            (2.604, "2.6"),
            (14.26, "14.3"),
            (99.99, "100"),
            (100.4, "100"),
            (1_904.2, "1,904"),
            (20_347_538.0, "20,347,538"),
            (-1_234.0, "-1,234"),
        ] {
            assert_eq!(significant(number), text);
        }
    }

    #[test]
    fn figures_are_in_the_units_that_they_say() {
        let sample = Sample {
            messages: 1_000,
            octets: 2_000_000_000,
            elapsed: Duration::from_secs(4),
            cpu: Some(Duration::from_millis(500)),
            round_trip: Some([1_500, 2_500, 3_500]),
            peak: Some(5 << 20),
            idle: Some(1_904.0),
        };
        for (figure, value) in [
            (Figure::CpuMicros, 500.0),
            (Figure::CpuPerGb, 0.25),
            (Figure::Rate, 250.0),
            (Figure::Bandwidth, 500.0),
            (Figure::P50, 1.5),
            (Figure::P99, 2.5),
            (Figure::P999, 3.5),
            (Figure::Idle, 1_904.0),
            (Figure::Peak, 5.0),
        ] {
            assert_eq!(figure.of(&sample), Some(value), "{figure:?}");
        }
    }
}
