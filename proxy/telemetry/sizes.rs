//! The histogram of message sizes: atomics that take many observations at once.
//!
//! The histogram of the `prometheus` crate is told each observation by itself. A turn of a
//! connection may carry thousands, so a gate counts them by bucket, and what is added here is one
//! number for each bucket that saw any.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use prometheus::Error;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, LabelPair, Metric, MetricFamily, MetricType};

use crate::gate::Histogram;

/// One series: the sizes for one set of label values.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    /// As [`Histogram::counts`].
    counts: [AtomicU64; Histogram::BOUNDS.len() + 1],
    /// As [`Histogram::sum`].
    sum: AtomicU64,
}

impl Sizes {
    /// Adds what was seen in one turn.
    #[inline]
    pub(super) fn add(&self, seen: &Histogram) {
        for (total, &count) in self.counts.iter().zip(&seen.counts) {
            if count != 0 {
                total.fetch_add(count, Relaxed);
            }
        }
        if seen.sum != 0 {
            self.sum.fetch_add(seen.sum, Relaxed);
        }
    }

    /// The series in the words of the crate: each bucket counts those below it as well.
    fn histogram(&self) -> prometheus::proto::Histogram {
        let mut cumulative = 0;
        let mut buckets = Vec::with_capacity(Histogram::BOUNDS.len());
        let mut bounds = Histogram::BOUNDS.iter();
        for count in &self.counts {
            cumulative += count.load(Relaxed);
            if let Some(&bound) = bounds.next() {
                let mut bucket = Bucket::default();
                bucket.set_upper_bound(bound as f64);
                bucket.set_cumulative_count(cumulative);
                buckets.push(bucket);
            }
        }
        let mut histogram = prometheus::proto::Histogram::default();
        histogram.set_bucket(buckets);
        histogram.set_sample_count(cumulative);
        histogram.set_sample_sum(self.sum.load(Relaxed) as f64);
        histogram
    }
}

/// All series of the histogram.
#[derive(Clone, Debug)]
pub(super) struct SizesVec {
    desc: Desc,
    /// By the values of the labels.
    series: Vec<(Vec<LabelPair>, Arc<Sizes>)>,
}

impl SizesVec {
    /// A histogram without series.
    pub(super) fn new(name: &str, help: &str, labels: &[&str]) -> Result<Self, Error> {
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        Ok(Self {
            desc: Desc::new(name.to_owned(), help.to_owned(), labels, HashMap::new())?,
            series: Vec::new(),
        })
    }

    /// Adds a series with these values of the labels.
    pub(super) fn series(&mut self, values: &[&str]) -> Arc<Sizes> {
        let mut labels: Vec<LabelPair> = self
            .desc
            .variable_labels
            .iter()
            .zip(values)
            .map(|(name, &value)| {
                let mut pair = LabelPair::default();
                pair.set_name(name.clone());
                pair.set_value(value.to_owned());
                pair
            })
            .collect();
        // The registry sorts series by their labels and takes the labels to be sorted.
        labels.sort_by(|one, other| one.name().cmp(other.name()));
        let sizes = Arc::new(Sizes::default());
        self.series.push((labels, Arc::clone(&sizes)));
        sizes
    }
}

impl Collector for SizesVec {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.desc]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let metrics = self.series.iter().map(|(labels, sizes)| {
            let mut metric = Metric::from_label(labels.clone());
            metric.set_histogram(sizes.histogram());
            metric
        });
        let mut family = MetricFamily::default();
        family.set_name(self.desc.fq_name.clone());
        family.set_help(self.desc.help.clone());
        family.set_field_type(MetricType::HISTOGRAM);
        family.set_metric(metrics.collect());
        vec![family]
    }
}
