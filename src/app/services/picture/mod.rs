//! Pictures of a part of the window, as files that look as it is drawn. A pane says which picture it
//! can provide ([`Frame`]), and a request gets the one of the next frame: the shapes for an SVG, the
//! pixels for a PNG. Both are copied in that frame, and written by a worker once the user has named a
//! file.
//!
//! Cost: a frame without a request checks once per pane whether there is one.

mod svg;

use std::io::{self, Write};
use std::sync::Arc;

use eframe::egui::{self, ColorImage, Id, LayerId, Rect, Ui};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use svg::Drawing;

use crate::app::state::ids::ViewId;

/// The part of the window that a picture shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    Graph,
    View(ViewId),
}

impl Subject {
    /// The suggested name of its file.
    pub fn name(self) -> String {
        match self {
            Self::Graph => "graph".to_owned(),
            Self::View(view) => view.title().to_lowercase(),
        }
    }
}

/// The file format of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PictureFormat {
    Png,
    Svg,
}

impl PictureFormat {
    pub const ALL: [Self; 2] = [Self::Png, Self::Svg];

    /// The file extension of the format.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
        }
    }

    /// The label of its button.
    pub fn label(self) -> &'static str {
        match self {
            Self::Png => "Export picture as PNG\u{2026}",
            Self::Svg => "Export picture as SVG\u{2026}",
        }
    }
}

/// A picture as it was when it was requested.
#[derive(Debug)]
pub struct Picture {
    pub subject: Subject,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    Pixels(ColorImage),
    Shapes(Drawing),
}

impl Picture {
    pub fn format(&self) -> PictureFormat {
        match self.shown {
            Shown::Pixels(_) => PictureFormat::Png,
            Shown::Shapes(_) => PictureFormat::Svg,
        }
    }

    /// Writes the picture in its format.
    pub fn write(&self, mut out: &mut dyn Write) -> io::Result<()> {
        let image = match &self.shown {
            Shown::Shapes(drawing) => return drawing.write(out),
            Shown::Pixels(image) => image,
        };
        let bytes: Vec<u8> = image.pixels.iter().flat_map(|pixel| [pixel.r(), pixel.g(), pixel.b()]).collect();
        let encoder = PngEncoder::new_with_quality(&mut out, CompressionType::Default, FilterType::Adaptive);
        let [width, height] = image.size.map(|size| size as u32);
        image::ImageEncoder::write_image(encoder, &bytes, width, height, image::ExtendedColorType::Rgb8).map_err(io::Error::other)
    }
}

/// A request for a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PictureRequest {
    pub subject: Subject,
    pub format: PictureFormat,
}

/// A request and the frame in which it was made.
#[derive(Clone, Copy)]
struct Asked {
    request: PictureRequest,
    frame: u64,
    is_granted: bool,
}

fn asked_id() -> Id {
    Id::unique("picture asked for")
}

fn taken_id() -> Id {
    Id::unique("picture taken")
}

/// Frames until a request expires: a part that is not drawn by then is not visible.
const PATIENCE: u64 = 2;

fn asked(ctx: &egui::Context) -> Option<Asked> {
    let asked: Asked = ctx.data(|data| data.get_temp(asked_id()))?;
    (ctx.cumulative_frame_nr() <= asked.frame + PATIENCE).then_some(asked)
}

/// Requests a picture of what is drawn next.
pub fn ask(ctx: &egui::Context, request: PictureRequest) {
    let asked = Asked { request, frame: ctx.cumulative_frame_nr(), is_granted: false };
    ctx.data_mut(|data| data.insert_temp(asked_id(), asked));
    ctx.request_repaint();
}

/// Whether a picture of it is being taken: parts that follow the pointer are left out of it.
pub fn is_taken_of(ctx: &egui::Context, subject: Subject) -> bool {
    asked(ctx).is_some_and(|asked| asked.request.subject == subject)
}

/// Takes the finished picture, once.
pub fn take(ctx: &egui::Context) -> Option<Arc<Picture>> {
    ctx.data_mut(|data| data.remove_temp::<Option<Arc<Picture>>>(taken_id()))?
}

/// A pane that is being drawn.
pub struct Frame {
    subject: Subject,
    layer: LayerId,
    /// The number of shapes that were in its layer before.
    before: usize,
}

impl Frame {
    pub fn begin(ui: &Ui, subject: Subject) -> Self {
        let layer = ui.layer_id();
        let before = ui.ctx().graphics(|graphics| graphics.get(layer).map_or(0, |list| list.next_idx().0));
        Self { subject, layer, before }
    }

    /// Ends a pane that was drawn in this place: takes its picture if one is requested.
    pub fn end(self, ui: &Ui, rect: Rect) {
        let ctx = ui.ctx();
        let is_it = |asked: &Asked| asked.request.subject == self.subject && !asked.is_granted;
        let Some(asked) = asked(ctx).filter(is_it) else { return };
        ctx.data_mut(|data| data.insert_temp(asked_id(), Asked { is_granted: true, ..asked }));
        let rect = rect.intersect(ctx.content_rect());
        if !rect.is_positive() {
            return;
        }
        match asked.request.format {
            PictureFormat::Png => take_pixels(ctx, self.subject, rect),
            PictureFormat::Svg => {
                let rect = Rect::from_min_max(rect.min.floor(), rect.max.ceil());
                let ground = ui.visuals().panel_fill;
                let shapes = |list: &egui::layers::PaintList| list.all_entries().skip(self.before).cloned().collect();
                let shapes = ctx.graphics(|graphics| graphics.get(self.layer).map(shapes)).unwrap_or_default();
                keep(ctx, Picture { subject: self.subject, shown: Shown::Shapes(Drawing { shapes, rect, ground }) });
            }
        }
    }
}

fn keep(ctx: &egui::Context, picture: Picture) {
    ctx.data_mut(|data| data.insert_temp(taken_id(), Some(Arc::new(picture))));
    ctx.request_repaint();
}

fn take_pixels(ctx: &egui::Context, subject: Subject, rect: Rect) {
    let (of, scale) = (ctx.clone(), ctx.pixels_per_point());
    let cut = egui::ScreenshotCallback::new(move |image| {
        let whole = Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(image.width() as f32, image.height() as f32));
        let pixels = (rect * scale).intersect(whole);
        if pixels.is_positive() {
            keep(&of, Picture { subject, shown: Shown::Pixels(image.region(&pixels, None)) });
        }
    });
    ctx.send_viewport_cmd(egui::ViewportCommand::Screenshot(cut));
}
