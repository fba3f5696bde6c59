//! Where octets stand between a read and a write.
//!
//! A large buffer is lent to a stream only while octets are pending, from a pool of the thread, so
//! an idle connection owns none. The few octets of a header that a read cut in two are kept apart,
//! in as much memory as they need and no more than twice of what has arrived.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Octets that were received and not yet dealt with.
#[derive(Debug)]
pub(super) struct Buffer {
    octets: Box<[u8]>,
    /// The first octet not dealt with; below `end`, or 0 as that is.
    start: usize,
    /// Behind the last octet received; at most the length of `octets`.
    end: usize,
    home: Home,
}

/// Where a buffer comes from and goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// The pool of the thread.
    Pool,
    /// It was made for the octets in it.
    Own,
}

impl Buffer {
    /// An empty buffer of [`LARGE`] octets.
    pub(super) fn pooled() -> Self {
        let octets = POOL
            .with_borrow_mut(Vec::pop)
            .unwrap_or_else(|| vec![0; LARGE].into_boxed_slice());
        Self {
            octets,
            start: 0,
            end: 0,
            home: Home::Pool,
        }
    }

    /// The octets not dealt with.
    pub(super) fn octets(&self) -> &[u8] {
        self.octets.get(self.start..self.end).unwrap_or_default()
    }

    /// Notes that the first `len` octets have been dealt with.
    pub(super) fn consume(&mut self, len: usize) {
        self.start = self.end.min(self.start + len);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads what is there, so that at most `window` octets are held; 0 is the end of the stream.
    ///
    /// Grows where the octets held fill the buffer, so a caller bounds what it waits for.
    pub(super) fn poll_read<R: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut R,
        window: usize,
    ) -> Poll<io::Result<usize>> {
        self.make_room(window);
        let end = match window {
            window if window > self.end => self.octets.len().min(window),
            // Whoever reads on needs more than a window.
            _ => self.octets.len(),
        };
        let mut room = ReadBuf::new(self.octets.get_mut(self.end..end).unwrap_or_default());
        ready!(Pin::new(source).poll_read(cx, &mut room))?;
        let len = room.filled().len();
        self.end += len;
        Poll::Ready(Ok(len))
    }

    /// The buffer to keep while nothing arrives: none for no octets, a small one for a few.
    pub(super) fn settle(self) -> Option<Self> {
        if self.octets().is_empty() {
            return None;
        }
        if self.home == Home::Own {
            return Some(self);
        }
        Some(self.with_capacity(self.octets().len()))
    }

    /// Makes room behind the octets held, so that as many fit in as a window has.
    fn make_room(&mut self, window: usize) {
        if self.home == Home::Own && self.octets().len() <= SMALL {
            let mut large = Self::pooled();
            large.take_over(self.octets());
            *self = large;
        }
        if self.end < self.octets.len().min(window) {
            return;
        }
        if self.start > 0 {
            self.octets.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        } else if self.end == self.octets.len() {
            *self = self.with_capacity(2 * self.end);
        }
    }

    /// A buffer of its own with the same octets.
    fn with_capacity(&self, capacity: usize) -> Self {
        let mut own = Self {
            octets: vec![0; capacity].into_boxed_slice(),
            start: 0,
            end: 0,
            home: Home::Own,
        };
        own.take_over(self.octets());
        own
    }

    fn take_over(&mut self, octets: &[u8]) {
        if let Some(room) = self.octets.get_mut(..octets.len()) {
            room.copy_from_slice(octets);
            self.end = octets.len();
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.home == Home::Pool {
            let octets = std::mem::take(&mut self.octets);
            // A thread that is ending has no pool any more.
            let _ = POOL.try_with(|pool| {
                let mut pool = pool.borrow_mut();
                if pool.len() < POOLED {
                    pool.push(octets);
                }
            });
        }
    }
}

/// The octets to hold at most at once in a stream towards a socket whose segments carry
/// `segment_len`: as many whole segments as fit, so that no write leaves a small one behind.
pub(super) fn window(segment_len: Option<usize>) -> usize {
    match segment_len {
        Some(len) if (1..=LARGE).contains(&len) => LARGE / len * len,
        _ => LARGE,
    }
}

thread_local! {
    /// Buffers that nobody needs now; the last one given back is the next one lent, since its
    /// memory is the warmest.
    static POOL: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// Octets of a pooled buffer: larger reads are no cheaper, they only leave the cache.
pub(super) const LARGE: usize = 256 * 1024;

/// Buffers that the pool keeps: 4 MiB for a thread.
const POOLED: usize = 16;

/// Octets held up to which a read goes into a pooled buffer, behind a copy of them.
const SMALL: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn octets_survive_settling_growing_and_moving() {
        let mut expected = Vec::new();
        let mut buffer = Buffer::pooled();
        for round in 0..200_u32 {
            let piece: Vec<u8> = (0..5000).map(|n| (n + round) as u8).collect();
            expected.extend_from_slice(&piece);
            let mut source = &piece[..];
            while !source.is_empty() {
                std::future::poll_fn(|cx| buffer.poll_read(cx, &mut source, LARGE))
                    .await
                    .expect("memory does not fail");
            }
            buffer.consume(7);
            expected.drain(..7);
            buffer = buffer.settle().expect("octets are held");
            assert_eq!(buffer.octets(), expected);
        }
    }

    #[tokio::test]
    async fn a_settled_buffer_is_as_large_as_what_it_holds() {
        let mut buffer = Buffer::pooled();
        let mut source = &[1, 2, 3][..];
        std::future::poll_fn(|cx| buffer.poll_read(cx, &mut source, LARGE))
            .await
            .expect("memory does not fail");
        buffer.consume(1);
        let mut buffer = buffer.settle().expect("octets are held");
        assert_eq!(buffer.octets.len(), 2);
        buffer.consume(2);
        assert!(buffer.settle().is_none());
    }

    #[tokio::test]
    async fn each_read_has_room_for_a_window_once_the_octets_before_it_are_gone() {
        let window = 100_000;
        let mut buffer = Buffer::pooled();
        let mut source = &vec![7; 10 * window][..];
        for held in [0, 0, 40_000, 1, 99_999, 0, 0] {
            std::future::poll_fn(|cx| buffer.poll_read(cx, &mut source, window))
                .await
                .expect("memory does not fail");
            assert_eq!(buffer.octets().len(), window);
            buffer.consume(window - held);
        }
        // A short read leaves no less room for the next one.
        let mut few = &[7; 60_000][..];
        std::future::poll_fn(|cx| buffer.poll_read(cx, &mut few, window))
            .await
            .expect("memory does not fail");
        buffer.consume(window);
        let read = std::future::poll_fn(|cx| buffer.poll_read(cx, &mut source, window)).await;
        assert_eq!(read.expect("memory does not fail"), window);
    }

    #[tokio::test]
    async fn who_needs_more_than_a_window_gets_it_in_few_reads() {
        let mut buffer = Buffer::pooled();
        let mut source = &vec![7; 4 * LARGE][..];
        let mut reads = 0;
        while buffer.octets().len() < 3 * LARGE {
            std::future::poll_fn(|cx| buffer.poll_read(cx, &mut source, 100_000))
                .await
                .expect("memory does not fail");
            reads += 1;
        }
        assert!(reads < 10, "{reads} reads");
    }

    #[test]
    fn a_window_is_the_largest_multiple_of_the_segment() {
        assert_eq!(window(Some(65_483)), 4 * 65_483);
        assert_eq!(window(Some(1448)), 181 * 1448);
        assert_eq!(window(Some(LARGE + 1)), LARGE);
        assert_eq!(window(Some(0)), LARGE);
        assert_eq!(window(None), LARGE);
    }
}
