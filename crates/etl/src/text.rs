//! Sizes and counts as this crate's messages write them, for programs whose own messages stand beside them.

/// Bytes in binary units: `40 B`, `130.00 KB`, `10.00 MB` (1 KB = 1,024 B).
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    // A value that would be rounded to 1024.00 gets the next unit.
    while value >= 1023.995 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

/// A count with thousands separators: `1,200`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_binary_units() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KB"),
            (133_120, "130.00 KB"),
            (10 << 20, "10.00 MB"),
            ((1 << 20) - 1, "1.00 MB"),
            (u64::MAX, "16.00 EB"),
        ];
        for (n, text) in cases {
            assert_eq!(bytes(n), text);
        }
    }

    #[test]
    fn counts_have_groups_of_three() {
        assert_eq!([0, 999, 1200, 1_234_567].map(count), ["0", "999", "1,200", "1,234,567"]);
    }
}
