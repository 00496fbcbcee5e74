//! The date that `strftime_now` gives to templates.

use minijinja::{Error, ErrorKind};

/// Where templates take the time from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The system's, in UTC: a prompt does not depend on where the server stands.
    System,
    /// Always this time, in seconds since 1970-01-01T00:00:00Z.
    Fixed(u64),
}

const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/// 1970 began with the first of them.
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

fn two_or_four_digits(text: &str) -> Option<u64> {
    let is_digits = matches!(text.len(), 2 | 4) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_digits)
}

impl Clock {
    /// The time that a text in the form of RFC 3339 names, or a date and time without an offset. An offset does not move it: what
    /// stands in the text is what templates print.
    pub fn at(text: &str) -> Option<Self> {
        let (date, time) = text.split_once(['T', 't', ' '])?;
        let numbers = |text: &str, by: char| {
            let parts: Option<Vec<u64>> = text.split(by).map(two_or_four_digits).collect();
            <[u64; 3]>::try_from(parts?).ok()
        };
        let offset = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
        let (time, offset) = time.split_at(offset);
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let is_offset = match offset.strip_prefix(['+', '-']) {
            Some(offset) => offset.split_once(':').is_some_and(|(hours, minutes)| {
                two_or_four_digits(hours).is_some_and(|h| h < 24) && two_or_four_digits(minutes).is_some_and(|m| m < 60)
            }),
            None => offset.len() < 2,
        };
        let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
        let days = |year, month| days_from_civil(year, month, 1);
        let is_month = (1970..10_000).contains(&year) && (1..=12).contains(&month);
        let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        let is_day = is_month && (1..=days(next.0, next.1) - days(year, month)).contains(&day);
        let is_time = hour < 24 && minute < 60 && second < 60 && !fraction.is_empty();
        if !(is_day && is_time && is_offset && fraction.bytes().all(|b| b.is_ascii_digit())) {
            return None;
        }
        Some(Self::Fixed(days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second))
    }

    fn seconds(self) -> u64 {
        match self {
            Self::Fixed(seconds) => seconds,
            Self::System => {
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
            }
        }
    }

    /// Python's `strftime`, for the directives that name parts of a date and time.
    pub(super) fn format(self, format: &str) -> Result<String, Error> {
        let seconds = self.seconds();
        let (days, time) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
        let month_name = MONTHS[month as usize - 1];
        let day_name = DAYS[(days % 7) as usize];
        // Sunday is 0, and so is the first of January.
        let (weekday, year_day) = ((days + 4) % 7, days - days_from_civil(year, 1, 1));
        let mut out = String::new();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut directive = chars.next();
            let padded = directive != Some('-');
            if !padded {
                directive = chars.next();
            }
            let number = |value: u64, width: usize| match padded {
                true => format!("{value:0width$}"),
                false => value.to_string(),
            };
            out += &match directive {
                Some('Y') => year.to_string(),
                Some('y') => number(year % 100, 2),
                Some('m') => number(month, 2),
                Some('B') => month_name.to_owned(),
                Some('b' | 'h') => month_name[..3].to_owned(),
                Some('d') => number(day, 2),
                Some('e') => format!("{day:2}"),
                Some('j') => number(1 + year_day, 3),
                Some('A') => day_name.to_owned(),
                Some('a') => day_name[..3].to_owned(),
                Some('H') => number(hour, 2),
                Some('I') => number((hour + 11) % 12 + 1, 2),
                Some('M') => number(minute, 2),
                Some('S') => number(second, 2),
                Some('p') => if hour < 12 { "AM" } else { "PM" }.to_owned(),
                Some('F') => format!("{year}-{month:02}-{day:02}"),
                Some('T') => format!("{hour:02}:{minute:02}:{second:02}"),
                Some('R') => format!("{hour:02}:{minute:02}"),
                Some('D' | 'x') => format!("{month:02}/{day:02}/{:02}", year % 100),
                Some('X') => format!("{hour:02}:{minute:02}:{second:02}"),
                Some('c') => format!("{} {} {day:2} {hour:02}:{minute:02}:{second:02} {year}", &day_name[..3], &month_name[..3]),
                Some('C') => number(year / 100, 2),
                Some('w') => weekday.to_string(),
                Some('u') => ((weekday + 6) % 7 + 1).to_string(),
                Some('U') => number((year_day + 7 - weekday) / 7, 2),
                Some('W') => number((year_day + 7 - (weekday + 6) % 7) / 7, 2),
                Some('f') => "000000".to_owned(),
                Some('n') => "\n".to_owned(),
                Some('t') => "\t".to_owned(),
                // The reference's time has no zone, and prints none.
                Some('Z' | 'z') => String::new(),
                Some('%') => "%".to_owned(),
                other => {
                    let what = format!("strftime_now does not know `%{}`", other.map_or(String::new(), String::from));
                    return Err(Error::new(ErrorKind::InvalidOperation, what));
                }
            };
        }
        Ok(out)
    }
}

/// Year, month and day of a day counted from 1970-01-01 (Hinnant: chrono-compatible low-level date algorithms).
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, doe) = (z / 146_097, z % 146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + u64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

/// The inverse of [`civil`].
fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let y = year - u64::from(month <= 2);
    let (era, yoe) = (y / 400, y % 400);
    let mp = if month > 2 { month - 3 } else { month + 9 };
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + (153 * mp + 2) / 5 + day - 1;
    era * 146_097 + doe - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_like_python() {
        // 2026-07-04 was a Saturday.
        let noon = Clock::Fixed(1_783_166_400);
        let text = noon.format("%Y-%m-%d %H:%M:%S|%d %b %Y|%A, %B %-d|%a %e %I %p %j %y %%").unwrap();
        assert_eq!(text, "2026-07-04 12:00:00|04 Jul 2026|Saturday, July 4|Sat  4 12 PM 185 26 %");
        assert_eq!(Clock::Fixed(0).format("%F %T %a %I%p").unwrap(), "1970-01-01 00:00:00 Thu 12AM");
        assert_eq!(Clock::Fixed(951_782_400).format("%d %B %Y").unwrap(), "29 February 2000");
        let unknown = noon.format("%Q").unwrap_err();
        assert!(unknown.to_string().contains("strftime_now does not know `%Q`"));
        assert!(noon.format("%").is_err());
    }

    #[test]
    fn further_directives_are_python_s() {
        let noon = Clock::Fixed(1_783_166_400);
        let text = noon.format("%c|%x|%X|%R|%w|%u|%U|%W|%f|[%Z%z]").unwrap();
        assert_eq!(text, "Sat Jul  4 12:00:00 2026|07/04/26|12:00:00|12:00|6|6|26|26|000000|[]");
    }

    #[test]
    fn a_time_is_read_as_it_is_written() {
        for text in ["2026-07-04T12:00:00Z", "2026-07-04 12:00:00", "2026-07-04t12:00:00.5+02:00", "2026-07-04T12:00:00-11:30"] {
            assert_eq!(Clock::at(text), Some(Clock::Fixed(1_783_166_400)), "{text}");
        }
        for text in [
            "",
            "2026-07-04",
            "2026-02-29T12:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-07-04T24:00:00Z",
            "2026-07-04T12:00Z",
            "2026-07-04T12:00:00+2",
            "2026-07-04T12:00:00Zx",
            "1969-12-31T23:59:59Z",
            "2026-07-04T12:00:00.Z",
            "2026-7-4T12:00:00Z",
        ] {
            assert_eq!(Clock::at(text), None, "{text}");
        }
        assert_eq!(Clock::at("2028-02-29T00:00:00Z").unwrap().format("%F").unwrap(), "2028-02-29");
    }

    #[test]
    fn every_day_of_two_centuries_is_the_day_after_the_last() {
        let mut last = civil(0);
        for day in 1..73_000 {
            let (y, m, d) = civil(day);
            assert_eq!(days_from_civil(y, m, d), day);
            let follows = (y, m, d) == (last.0, last.1, last.2 + 1)
                || (y, m, d) == (last.0, last.1 + 1, 1)
                || (y, m, d) == (last.0 + 1, 1, 1);
            assert!(follows, "{last:?} then {:?}", (y, m, d));
            last = (y, m, d);
        }
    }
}
