//! Draws the window's pictures without a GPU: what egui hands to a renderer, into pixels. Colours
//! are blended as its own renderers do it (premultiplied, with gamma, eight bits a channel), and
//! textures are filtered in the same way, so that a picture is the same on every machine.
//!
//! Cost: a pass over the rows of each triangle; rows of one colour are filled at once.

use std::collections::HashMap;

use eframe::egui::epaint::{ImageData, ImageDelta, Mesh, Primitive, Vertex};
use eframe::egui::{self, Color32, Pos2, Rect, TextureFilter, TextureId, TexturesDelta};
use egui_kittest::TestRenderer;
use image::RgbaImage;

/// What holds the textures, and draws with them.
#[derive(Default)]
pub struct Painter {
    textures: HashMap<TextureId, Texture>,
    /// What the next change of textures takes away: this frame is still drawn with it.
    unused: Vec<TextureId>,
}

impl TestRenderer for Painter {
    fn handle_delta(&mut self, delta: &mut TexturesDelta) {
        self.unused.drain(..).for_each(|id| _ = self.textures.remove(&id));
        std::mem::take(&mut delta.set).into_iter().for_each(|(id, changes)| {
            let texture = self.textures.entry(id).or_default();
            changes.iter().for_each(|change| texture.change(change));
        });
        self.unused = std::mem::take(&mut delta.free).into_iter().collect();
    }

    fn render(&mut self, ctx: &egui::Context, output: &egui::FullOutput) -> Result<RgbaImage, String> {
        let scale = output.pixels_per_point;
        let size = (ctx.content_rect().size() * scale).round();
        let mut canvas = Canvas::new(size.x as usize, size.y as usize);
        for part in ctx.tessellate(output.shapes.clone(), scale) {
            let Primitive::Mesh(mesh) = &part.primitive else { return Err("a callback cannot be drawn".to_owned()) };
            let texture = self.textures.get(&mesh.texture_id).ok_or("a texture is missing")?;
            canvas.mesh(mesh, texture, part.clip_rect, scale);
        }
        let bytes = canvas.pixels.iter().flat_map(|pixel| pixel.to_array()).collect();
        RgbaImage::from_raw(canvas.width as u32, canvas.height as u32, bytes).ok_or_else(|| "an odd size".to_owned())
    }
}

#[derive(Default)]
struct Texture {
    size: [usize; 2],
    texels: Vec<Color32>,
    is_nearest: bool,
}

impl Texture {
    fn change(&mut self, delta: &ImageDelta) {
        let ImageData::Color(image) = &delta.image;
        let Some([left, top]) = delta.pos else {
            (self.size, self.texels) = (image.size, image.pixels.clone());
            self.is_nearest = delta.options.magnification == TextureFilter::Nearest;
            return;
        };
        for (row, texels) in image.pixels.chunks_exact(image.width()).enumerate() {
            let start = (top + row) * self.size[0] + left;
            self.texels[start..start + texels.len()].copy_from_slice(texels);
        }
    }

    fn texel(&self, x: f64, y: f64) -> [f64; 4] {
        let at = |value: f64, size: usize| (value.max(0.0) as usize).min(size - 1);
        self.texels[at(y, self.size[1]) * self.size[0] + at(x, self.size[0])].to_array().map(f64::from)
    }

    /// The colour at a place from 0 to 1, of the four texels around it.
    fn sample(&self, u: f64, v: f64) -> [f64; 4] {
        let (x, y) = (u * self.size[0] as f64, v * self.size[1] as f64);
        if self.is_nearest {
            return self.texel(x, y);
        }
        // Glyphs lie on whole pixels; what is left is the noise of where they lie on the screen.
        let whole = |value: f64| if (value - value.round()).abs() < 1e-3 { value.round() } else { value };
        let (x, y) = (whole(x - 0.5), whole(y - 0.5));
        let (left, top) = (x.floor(), y.floor());
        let (right_part, bottom_part) = (x - left, y - top);
        if right_part == 0.0 && bottom_part == 0.0 {
            return self.texel(left, top);
        }
        let mix = |a: [f64; 4], b: [f64; 4], part: f64| std::array::from_fn(|i| a[i] + (b[i] - a[i]) * part);
        let row = |y: f64| mix(self.texel(left, y), self.texel(left + 1.0, y), right_part);
        mix(row(top), row(top + 1.0), bottom_part)
    }
}

/// A range of pixels.
#[derive(Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
}

impl Span {
    /// Pixels whose centres lie between two edges; the first edge has those that lie on it.
    fn between(from: f64, to: f64, within: Self) -> Self {
        let at = |edge: f64| ((edge - 0.5).ceil().max(0.0) as usize).clamp(within.from, within.to);
        Self { from: at(from), to: at(to) }
    }
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Color32>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![Color32::BLACK; width * height] }
    }

    fn mesh(&mut self, mesh: &Mesh, texture: &Texture, clip: Rect, scale: f32) {
        let range = |from: f32, to: f32, most: usize| {
            let at = |edge: f32| ((edge * scale).round().max(0.0) as usize).min(most);
            Span { from: at(from), to: at(to).max(at(from)) }
        };
        let (columns, rows) = (range(clip.left(), clip.right(), self.width), range(clip.top(), clip.bottom(), self.height));
        for corners in mesh.indices.chunks_exact(3) {
            let corner = |i: usize| Corner::of(&mesh.vertices[corners[i] as usize], scale);
            self.triangle([corner(0), corner(1), corner(2)], texture, columns, rows);
        }
    }

    fn triangle(&mut self, corners: [Corner; 3], texture: &Texture, columns: Span, rows: Span) {
        let Some(ramp) = Ramp::of(&corners) else { return };
        let mut sorted = corners;
        // An edge that two triangles share is computed from the same end in both: no gap, no overlap.
        sorted.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
        let [top, middle, bottom] = &sorted;
        let one_color = corners.iter().all(|corner| corner.values == corners[0].values);
        let color = one_color.then(|| shade(&corners[0].values, texture));
        let lines = Span::between(top.y, bottom.y, rows);
        for row in lines.from..lines.to {
            let y = row as f64 + 0.5;
            let short = if y < middle.y { x_at(top, middle, y) } else { x_at(middle, bottom, y) };
            let long = x_at(top, bottom, y);
            let span = Span::between(short.min(long), short.max(long), columns);
            let line = &mut self.pixels[row * self.width..][span.from..span.to.max(span.from)];
            match color {
                Some(color) => line.iter_mut().for_each(|pixel| blend(pixel, color)),
                None => {
                    for (i, pixel) in line.iter_mut().enumerate() {
                        blend(pixel, shade(&ramp.at((span.from + i) as f64 + 0.5, y), texture));
                    }
                }
            }
        }
    }
}

/// Colour and place in the texture: red, green, blue, alpha, u, v.
type Values = [f64; 6];

#[derive(Clone, Copy)]
struct Corner {
    x: f64,
    y: f64,
    values: Values,
}

impl Corner {
    fn of(vertex: &Vertex, scale: f32) -> Self {
        let [r, g, b, a] = vertex.color.to_array().map(f64::from);
        let Pos2 { x: u, y: v } = vertex.uv;
        let at = |value: f32| f64::from(value * scale);
        Self { x: at(vertex.pos.x), y: at(vertex.pos.y), values: [r, g, b, a, u.into(), v.into()] }
    }
}

fn x_at(from: &Corner, to: &Corner, y: f64) -> f64 {
    from.x + (to.x - from.x) * (y - from.y) / (to.y - from.y)
}

/// How values change over a triangle.
struct Ramp {
    start: Corner,
    right: Values,
    down: Values,
    least: Values,
    most: Values,
}

impl Ramp {
    /// `None` for a triangle without an area.
    fn of([a, b, c]: &[Corner; 3]) -> Option<Self> {
        let area = (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y);
        if area.abs() < 1e-9 {
            return None;
        }
        let each = |value: &dyn Fn(usize) -> f64| std::array::from_fn(value);
        let (to_b, to_c) = (|i: usize| b.values[i] - a.values[i], |i: usize| c.values[i] - a.values[i]);
        Some(Self {
            start: *a,
            right: each(&|i| (to_b(i) * (c.y - a.y) - to_c(i) * (b.y - a.y)) / area),
            down: each(&|i| (to_c(i) * (b.x - a.x) - to_b(i) * (c.x - a.x)) / area),
            least: each(&|i| a.values[i].min(b.values[i]).min(c.values[i])),
            most: each(&|i| a.values[i].max(b.values[i]).max(c.values[i])),
        })
    }

    fn at(&self, x: f64, y: f64) -> Values {
        let (right, down) = (x - self.start.x, y - self.start.y);
        std::array::from_fn(|i| {
            let value = self.start.values[i] + self.right[i] * right + self.down[i] * down;
            value.clamp(self.least[i], self.most[i])
        })
    }
}

/// The colour with the texture's.
fn shade(&[r, g, b, a, u, v]: &Values, texture: &Texture) -> [f64; 4] {
    let texel = texture.sample(u, v);
    let color = [r, g, b, a];
    std::array::from_fn(|i| color[i] * texel[i] / 255.0)
}

fn blend(pixel: &mut Color32, color: [f64; 4]) {
    let below = 1.0 - color[3] / 255.0;
    let old = pixel.to_array();
    let [r, g, b, _] = std::array::from_fn(|i| (color[i] + f64::from(old[i]) * below).clamp(0.0, 255.0).round() as u8);
    *pixel = Color32::from_rgb(r, g, b);
}
