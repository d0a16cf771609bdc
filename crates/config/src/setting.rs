//! Settings with bounds: numbers, durations, framing modes.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use sleeve_wire::Framing;

use crate::plan::Framings;

/// A setting that has bounds. Its name is the word of the command line without the dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// How long a dial may take, all addresses of a name together.
    ConnectTimeout,
    /// How long living streams may go on after the request to stop.
    Drain,
    /// Streams that a session may have at a time.
    MaxStreams,
    /// Threads, each with its own sessions.
    Workers,
}

impl Setting {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ConnectTimeout, Self::Drain, Self::MaxStreams, Self::Workers];

    /// Less is below the round trip of real paths; more is longer than any application waits.
    pub const CONNECT_TIMEOUT: RangeInclusive<Duration> =
        Duration::from_millis(10)..=Duration::from_secs(600);
    /// None ends living streams at once; more than an hour is no stop that a supervisor waits for.
    pub const DRAIN: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);
    /// Each stream may hold a slot and a window of memory; the upper bound is what keeps the
    /// session's memory inside the bound that the documentation states.
    pub const MAX_STREAMS: RangeInclusive<u32> = 1..=4096;
    /// More threads than this share no machine that a tunnel of this kind runs on.
    pub const WORKERS: RangeInclusive<usize> = 1..=64;

    /// The name in the command line and in errors.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectTimeout => "connect-timeout",
            Self::Drain => "drain",
            Self::MaxStreams => "max-streams",
            Self::Workers => "workers",
        }
    }

    /// Its bounds in words.
    #[must_use]
    pub const fn allowed(self) -> &'static str {
        match self {
            Self::ConnectTimeout => "from 10ms to 10m",
            Self::Drain => "from 0s to 60m",
            Self::MaxStreams => "from 1 to 4096",
            Self::Workers => "from 1 to 64",
        }
    }

    /// `--connect-timeout`.
    ///
    /// # Errors
    /// [`SettingError`] if the text is no duration or outside of the bounds.
    pub fn connect_timeout(text: &str) -> Result<Duration, SettingError> {
        within(Self::ConnectTimeout, &Self::CONNECT_TIMEOUT, duration(text)?)
    }

    /// `--drain`.
    ///
    /// # Errors
    /// [`SettingError`] if the text is no duration or outside of the bounds.
    pub fn drain(text: &str) -> Result<Duration, SettingError> {
        within(Self::Drain, &Self::DRAIN, duration(text)?)
    }

    /// `--max-streams`.
    ///
    /// # Errors
    /// [`SettingError`] if the text is no number or outside of the bounds.
    pub fn max_streams(text: &str) -> Result<u32, SettingError> {
        let bounds = SettingError::Bounds { setting: Self::MaxStreams };
        within(Self::MaxStreams, &Self::MAX_STREAMS, number(text)?.try_into().map_err(|_| bounds)?)
    }

    /// `--workers`.
    ///
    /// # Errors
    /// [`SettingError`] if the text is no number or outside of the bounds.
    pub fn workers(text: &str) -> Result<usize, SettingError> {
        let bounds = SettingError::Bounds { setting: Self::Workers };
        within(Self::Workers, &Self::WORKERS, number(text)?.try_into().map_err(|_| bounds)?)
    }
}

/// Whether a value lies in the bounds of its setting.
pub(crate) fn within<T: PartialOrd>(
    setting: Setting,
    bounds: &RangeInclusive<T>,
    value: T,
) -> Result<T, SettingError> {
    if bounds.contains(&value) { Ok(value) } else { Err(SettingError::Bounds { setting }) }
}

/// Digits only, and no more of them than fit: what is larger is outside of every setting's bounds.
fn number(text: &str) -> Result<u64, SettingError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SettingError::NoNumber);
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}

/// A whole number; one that does not fit is as good as the largest one.
///
/// # Errors
/// [`SettingError::NoNumber`] if the text is anything else.
pub fn count(text: &str) -> Result<usize, SettingError> {
    Ok(number(text)?.try_into().unwrap_or(usize::MAX))
}

/// A whole number and its unit: `500ms`, `5s`, `2m`. A number without a unit is refused, because
/// other programs read it as seconds here and as milliseconds there.
///
/// # Errors
/// [`SettingError::NoDuration`] if the text is anything else.
pub fn duration(text: &str) -> Result<Duration, SettingError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (amount, unit) = text.split_at(digits);
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        _ => return Err(SettingError::NoDuration),
    };
    let amount = number(amount).map_err(|_| SettingError::NoDuration)?;
    Ok(Duration::from_millis(amount.saturating_mul(milliseconds)))
}

/// A framing mode by its name.
///
/// # Errors
/// [`SettingError::NoFraming`] if there is no mode of this name.
pub fn framing(text: &str) -> Result<Framing, SettingError> {
    [Framing::Adaptive, Framing::Padded]
        .into_iter()
        .find(|mode| mode.name() == text)
        .ok_or(SettingError::NoFraming)
}

impl FromStr for Framings {
    type Err = SettingError;

    /// Names with commas between them; a name may not stand twice.
    fn from_str(text: &str) -> Result<Self, SettingError> {
        let mut framings = Self { adaptive: false, padded: false };
        for name in text.split(',') {
            let seen = match framing(name)? {
                Framing::Adaptive => &mut framings.adaptive,
                Framing::Padded => &mut framings.padded,
            };
            if std::mem::replace(seen, true) {
                return Err(SettingError::FramingTwice);
            }
        }
        Ok(framings)
    }
}

/// Why a text is no value of a setting. The sentence does not repeat the text: whoever shows it
/// says where the text stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// Not a whole number.
    NoNumber,
    /// Not a whole number with a unit.
    NoDuration,
    /// Outside of what the setting permits.
    Bounds {
        /// The setting.
        setting: Setting,
    },
    /// Not the name of a framing mode.
    NoFraming,
    /// A framing mode that was named before.
    FramingTwice,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber => f.write_str("this is no whole number: write digits only"),
            Self::NoDuration => f.write_str(
                "a duration is a whole number with its unit: write it like 500ms, 5s or 2m",
            ),
            Self::Bounds { setting } => {
                write!(f, "{} may be {}: choose a value there", setting.name(), setting.allowed())
            }
            Self::NoFraming => {
                f.write_str("there is no such framing mode: write adaptive or padded")
            }
            Self::FramingTwice => {
                f.write_str("a framing mode stands there twice: name each of them once")
            }
        }
    }
}

impl std::error::Error for SettingError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let table = [
            ("0ms", Ok(0)),
            ("500ms", Ok(500)),
            ("5s", Ok(5000)),
            ("2m", Ok(120_000)),
            ("007s", Ok(7000)),
            ("5", Err(SettingError::NoDuration)),
            ("", Err(SettingError::NoDuration)),
            ("s", Err(SettingError::NoDuration)),
            ("ms", Err(SettingError::NoDuration)),
            ("-5s", Err(SettingError::NoDuration)),
            ("+5s", Err(SettingError::NoDuration)),
            ("5 s", Err(SettingError::NoDuration)),
            ("5S", Err(SettingError::NoDuration)),
            ("1.5s", Err(SettingError::NoDuration)),
            ("5s5", Err(SettingError::NoDuration)),
            ("5h", Err(SettingError::NoDuration)),
            ("٥s", Err(SettingError::NoDuration)),
        ];
        for (text, expected) in table {
            assert_eq!(duration(text), expected.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_out_of_bounds() {
        let bounds = |setting| Err(SettingError::Bounds { setting });
        let huge = "99999999999999999999999";
        assert_eq!(Setting::max_streams(huge), bounds(Setting::MaxStreams));
        assert_eq!(Setting::max_streams("4294967297"), bounds(Setting::MaxStreams));
        assert_eq!(Setting::workers(huge).map(|_| 0), bounds(Setting::Workers));
        let timeout = Setting::connect_timeout("99999999999999999999999m");
        assert_eq!(timeout.map(|_| 0), bounds(Setting::ConnectTimeout));
    }

    #[test]
    fn bounds_are_those_of_the_words() {
        assert_eq!(Setting::connect_timeout("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(Setting::connect_timeout("10m"), Ok(Duration::from_secs(600)));
        assert!(Setting::connect_timeout("9ms").is_err());
        assert!(Setting::connect_timeout("600001ms").is_err());
        assert_eq!(Setting::drain("0s"), Ok(Duration::ZERO));
        assert_eq!(Setting::drain("60m"), Ok(Duration::from_secs(3600)));
        assert!(Setting::drain("61m").is_err());
        assert_eq!(Setting::max_streams("1"), Ok(1));
        assert_eq!(Setting::max_streams("4096"), Ok(4096));
        assert!(Setting::max_streams("0").is_err());
        assert!(Setting::max_streams("4097").is_err());
        assert_eq!(Setting::workers("64"), Ok(64));
        assert!(Setting::workers("0").is_err());
        assert!(Setting::workers("65").is_err());
        assert_eq!(Setting::workers("two"), Err(SettingError::NoNumber));
        assert_eq!(Setting::workers("+2"), Err(SettingError::NoNumber));
        assert_eq!(Setting::workers(""), Err(SettingError::NoNumber));
    }

    #[test]
    fn framings_are_lists_of_names() {
        let both = Framings { adaptive: true, padded: true };
        assert_eq!("adaptive,padded".parse(), Ok(both));
        assert_eq!("padded,adaptive".parse(), Ok(both));
        assert_eq!("padded".parse(), Ok(Framings { adaptive: false, padded: true }));
        assert_eq!("padded,padded".parse::<Framings>(), Err(SettingError::FramingTwice));
        for text in ["", ",", "adaptive,", "adaptive, padded", "Adaptive", "none"] {
            assert_eq!(text.parse::<Framings>(), Err(SettingError::NoFraming), "{text:?}");
        }
    }
}
