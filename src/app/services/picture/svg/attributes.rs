//! SVG formatting of values: numbers, places, colours, and texts without markup. Each is a value to be
//! formatted; those of several attributes begin with a space.

use std::fmt;

use eframe::egui::{Color32, Pos2, Rect, Stroke, Vec2};

/// Adds a line along points to an outline.
pub fn trace(outline: &mut String, points: &[Pos2]) {
    for (i, point) in points.iter().enumerate() {
        outline.push(if i == 0 { 'M' } else { 'L' });
        outline.push_str(&At(*point).to_string());
    }
}

/// A number with at most two decimals.
pub struct Num(pub f32);

impl fmt::Display for Num {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.0.is_finite() { self.0.clamp(-1e6, 1e6) } else { 0.0 };
        let rounded = (f64::from(value) * 100.0).round() / 100.0;
        write!(f, "{}", if rounded == 0.0 { 0.0 } else { rounded })
    }
}

pub struct At(pub Pos2);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Num(self.0.x), Num(self.0.y))
    }
}

/// Attributes of a rectangle's place and size.
pub struct Place(pub Rect);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Pos2 { x, y }, size) = (self.0.min, self.0.size().max(Vec2::ZERO));
        write!(f, " x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", Num(x), Num(y), Num(size.x), Num(size.y))
    }
}

pub struct Center(pub Pos2);

impl fmt::Display for Center {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " cx=\"{}\" cy=\"{}\"", Num(self.0.x), Num(self.0.y))
    }
}

/// Attributes of a colour, under this name.
fn paint(name: &str, color: Color32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let [r, g, b, a] = color.to_srgba_unmultiplied();
    match a {
        0 => write!(f, " {name}=\"none\""),
        255 => write!(f, " {name}=\"#{r:02x}{g:02x}{b:02x}\""),
        _ => write!(f, " {name}=\"#{r:02x}{g:02x}{b:02x}\" {name}-opacity=\"{:.3}\"", f32::from(a) / 255.0),
    }
}

#[derive(Clone, Copy)]
pub struct Fill(pub Color32);

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        paint("fill", self.0, f)
    }
}

#[derive(Clone, Copy)]
pub struct Line(pub Stroke);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        paint("stroke", self.0.color, f)?;
        write!(f, " stroke-width=\"{}\"", Num(self.0.width))
    }
}

/// A rotation by an angle around a place.
#[derive(Clone, Copy)]
pub struct Turn(pub f32, pub Pos2);

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0.0 {
            return Ok(());
        }
        write!(f, " transform=\"rotate({} {})\"", Num(self.0.to_degrees()), At(self.1))
    }
}

/// A text escaped for XML.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                    f.write_str("\u{fffd}")?;
                }
                _ => fmt::Write::write_char(f, letter)?,
            }
        }
        Ok(())
    }
}
