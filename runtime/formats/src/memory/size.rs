//! Sizes as people write and read them.

/// `24GiB`, `512MiB`, `1.5GB` or a number of bytes.
///
/// # Errors
/// One line that says what is read.
pub fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 9] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("B", 1),
    ];
    let text = text.trim();
    let refused = || format!("`{text}` is no size: a number with KiB, MiB, GiB, TiB, kB, MB, GB, TB or B is, such as 24GiB");
    let unit = UNITS.iter().find_map(|&(name, factor)| text.strip_suffix(name).map(|number| (number.trim_end(), factor)));
    let (number, factor) = unit.unwrap_or((text, 1));
    if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(refused());
    }
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).filter(|&bytes| bytes > 0).ok_or_else(refused);
    }
    let bytes = number.parse::<f64>().map_err(|_| refused())? * factor as f64;
    // What an f64 holds above this is no memory, and below 1 is none either.
    if (1.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(refused()) }
}

/// `12.3 MiB`, in powers of 1,024 with one decimal; under 1,024 bytes `640 B`.
pub fn shown_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1,023.95 would be printed as 1024.0 of the smaller unit.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `1,234,567`
pub fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
