//! Reasons and codes that frames carry (PROTOCOL 4.4).

use crate::WireError;

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value, in the order of its numbers.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The number on the wire.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self { $(Self::$variant => $value),* }
            }
        }

        impl TryFrom<u64> for $name {
            type Error = WireError;

            fn try_from(number: u64) -> Result<Self, WireError> {
                match number { $($value => Ok(Self::$variant),)* _ => Err(WireError::OutOfRange) }
            }
        }
    };
}

codes! {
    /// Why a stream was aborted.
    ResetReason {
        /// The backend refused the connection.
        Refused = 1,
        /// The backend's host or network cannot be reached, or its name not be found.
        Unreachable = 2,
        /// The backend did not answer within the connect time-out.
        Timeout = 3,
        /// The local connection was reset.
        Reset = 4,
        /// A limit of this side forbids the stream.
        Limit = 5,
        /// This side is shutting down.
        Shutdown = 6,
        /// This side cannot go on with the stream (out of descriptors or memory).
        Internal = 7,
        /// The service that the stream asked for does not exist here.
        NoService = 8,
        /// The answer to the other side's reset.
        Echo = 9,
    }
}

codes! {
    /// Why a session ended for good.
    CloseCode {
        /// All is done.
        Normal = 0,
        /// Bytes or frames that the protocol forbids.
        Protocol = 1,
        /// More data than was granted.
        FlowControl = 2,
        /// An acknowledgement or a resume point outside of what was sent.
        Offset = 3,
        /// More control frames than any honest peer sends.
        Calm = 4,
        /// A fault of this side.
        Internal = 5,
        /// Another carrier took the session over.
        Superseded = 6,
        /// The session was not resumed in time.
        ResumeWindow = 7,
    }
}

codes! {
    /// Why a side asks for no further streams on this session.
    GoAwayReason {
        /// The daemon ends.
        Drain = 0,
        /// The carrier's key is to be replaced.
        Rekey = 1,
        /// The carrier is to be replaced.
        Migrate = 2,
    }
}
