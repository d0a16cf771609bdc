//! What passed.

/// Totals of one tunnel since it began. Bytes unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Application bytes sealed.
    pub sent_data: u64,
    /// Frames' bytes sealed, application bytes included.
    pub sent_frames: u64,
    /// Records' bytes, tags, lengths and padding included.
    pub sent_records: u64,
    /// Zeros that filled padded records.
    pub sent_padding: u64,
    /// Number of records sealed.
    pub records: u64,
    /// Number of DATA frames sealed.
    pub messages: u64,
    /// Application bytes opened.
    pub received_data: u64,
    /// Records' bytes opened.
    pub received_records: u64,
    /// Number of times that a partial record was held because the kernel still had bytes.
    pub holds_unsent: u64,
    /// Number of times that a partial record was held because of a queue on the path.
    pub holds_queue: u64,
    /// Number of streams opened.
    pub opened: u64,
    /// Number of streams reset, by either side.
    pub resets: u64,
}

impl Counters {
    /// Adds another tunnel's totals.
    pub fn add(&mut self, other: &Self) {
        let Self {
            sent_data,
            sent_frames,
            sent_records,
            sent_padding,
            records,
            messages,
            received_data,
            received_records,
            holds_unsent,
            holds_queue,
            opened,
            resets,
        } = other;
        self.sent_data += sent_data;
        self.sent_frames += sent_frames;
        self.sent_records += sent_records;
        self.sent_padding += sent_padding;
        self.records += records;
        self.messages += messages;
        self.received_data += received_data;
        self.received_records += received_records;
        self.holds_unsent += holds_unsent;
        self.holds_queue += holds_queue;
        self.opened += opened;
        self.resets += resets;
    }
}
