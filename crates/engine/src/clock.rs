//! The time that the pure crates are told.

use std::sync::OnceLock;

use sleeve_session::Instant;

static START: OnceLock<std::time::Instant> = OnceLock::new();

/// Microseconds since the process first asked.
pub(crate) fn now() -> Instant {
    let start = *START.get_or_init(std::time::Instant::now);
    Instant::default().after(start.elapsed())
}
