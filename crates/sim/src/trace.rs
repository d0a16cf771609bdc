//! The last events of a run, one line of fixed columns each, for whoever has to understand it.

use std::collections::VecDeque;
use std::fmt::Write as _;

/// Lines kept.
const LINES: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Trace {
    on: bool,
    lines: VecDeque<String>,
}

impl Trace {
    pub(crate) fn new(on: bool) -> Self {
        Self { on, lines: VecDeque::new() }
    }

    /// `what` of `who` at a time, and how it stands then.
    pub(crate) fn note(&mut self, now: u64, who: usize, what: &str, state: impl FnOnce() -> String) {
        if !self.on {
            return;
        }
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        let who = ["dials", "accepts"][who];
        self.lines.push_back(format!("{now:>12} {who:<8} {what:<10} {}", state()));
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}
