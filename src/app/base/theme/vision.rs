//! Models of colour vision, for the tests of the palette: the three kinds of dichromacy after Machado,
//! Oliveira and Fernandes (2009, table for severity 1), the difference of two colours after CIEDE2000,
//! and the contrast of WCAG 2.

use eframe::egui::Color32;

/// A kind of colour vision.
#[derive(Clone, Copy, Debug)]
pub enum Vision {
    Normal,
    Protanopia,
    Deuteranopia,
    Tritanopia,
}

pub const ALL: [Vision; 4] = [Vision::Normal, Vision::Protanopia, Vision::Deuteranopia, Vision::Tritanopia];

type Triple = [f64; 3];
type Matrix = [Triple; 3];

impl Vision {
    fn matrix(self) -> Matrix {
        match self {
            Self::Normal => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            Self::Protanopia => {
                [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]]
            }
            Self::Deuteranopia => {
                [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]]
            }
            Self::Tritanopia => {
                [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]]
            }
        }
    }

    /// The colour as seen with this vision, in linear light.
    pub fn see(self, color: Color32) -> Triple {
        apply(&self.matrix(), linear(color)).map(|part| part.clamp(0.0, 1.0))
    }
}

fn apply(matrix: &Matrix, of: Triple) -> Triple {
    matrix.map(|row| row.iter().zip(of).map(|(a, b)| a * b).sum())
}

fn linear(color: Color32) -> Triple {
    [color.r(), color.g(), color.b()].map(|byte| {
        let part = f64::from(byte) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

/// Conversion from linear sRGB to XYZ, and the white point D65.
const XYZ: Matrix =
    [[0.412_456_4, 0.357_576_1, 0.180_437_5], [0.212_672_9, 0.715_152_2, 0.072_175], [0.019_333_9, 0.119_192, 0.950_304_1]];
const WHITE: Triple = [0.950_47, 1.0, 1.088_83];

fn lab(linear: Triple) -> Triple {
    let xyz = apply(&XYZ, linear);
    let f: Vec<f64> = xyz
        .iter()
        .zip(WHITE)
        .map(|(part, white)| part / white)
        .map(|t| if t > 216.0 / 24389.0 { t.cbrt() } else { (24389.0 / 27.0 * t + 16.0) / 116.0 })
        .collect();
    [116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])]
}

/// CIEDE2000 difference of two colours in linear light.
pub fn difference(one: Triple, other: Triple) -> f64 {
    let ([l1, a1, b1], [l2, a2, b2]) = (lab(one), lab(other));
    let mean_chroma = f64::midpoint(a1.hypot(b1), a2.hypot(b2));
    let seventh = |chroma: f64| (chroma.powi(7) / (chroma.powi(7) + 25f64.powi(7))).sqrt();
    let stretch = 1.0 + 0.5 * (1.0 - seventh(mean_chroma));
    let (a1, a2) = (a1 * stretch, a2 * stretch);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let is_grey = c1 * c2 == 0.0;
    let turn = if is_grey { 0.0 } else { (h2 - h1 + 180.0).rem_euclid(360.0) - 180.0 };
    let (dl, dc, dh) = (l2 - l1, c2 - c1, 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin());
    let (l, c) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2));
    let h = if is_grey { h1 + h2 } else { (h1 + turn / 2.0).rem_euclid(360.0) };
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h - 30.0) + 0.24 * cos(2.0 * h) + 0.32 * cos(3.0 * h + 6.0) - 0.2 * cos(4.0 * h - 63.0);
    let square = (l - 50.0).powi(2);
    let (sl, sc, sh) = (1.0 + 0.015 * square / (20.0 + square).sqrt(), 1.0 + 0.045 * c, 1.0 + 0.015 * c * t);
    let rotation = 60.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let mixed = -2.0 * seventh(c) * rotation.to_radians().sin() * (dc / sc) * (dh / sh);
    ((dl / sl).powi(2) + (dc / sc).powi(2) + (dh / sh).powi(2) + mixed).sqrt()
}

/// Contrast of two colours, 1 to 21.
pub fn contrast(one: Color32, other: Color32) -> f64 {
    let luminance = |color| apply(&XYZ, linear(color))[1];
    let (a, b) = (luminance(one), luminance(other));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Pairs and their differences from the test data of Sharma, Wu and Dalal (2005).
#[test]
fn known_pairs_differ_as_published() {
    let from_lab = |[l, a, b]: Triple| {
        let fy = (l + 16.0) / 116.0;
        let back = |t: f64| if t.powi(3) > 216.0 / 24389.0 { t.powi(3) } else { (116.0 * t - 16.0) * 27.0 / 24389.0 };
        let xyz = [back(fy + a / 500.0) * WHITE[0], back(fy) * WHITE[1], back(fy - b / 200.0) * WHITE[2]];
        let to_rgb = [
            [3.240_454_2, -1.537_138_5, -0.498_531_4],
            [-0.969_266, 1.876_010_8, 0.041_556],
            [0.055_643_4, -0.204_025_9, 1.057_225_2],
        ];
        apply(&to_rgb, xyz)
    };
    let pairs = [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 2.5, 0.0], [50.0, 0.0, -2.5], 4.3065),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
        ([22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373),
    ];
    for (one, other, expected) in pairs {
        let found = difference(from_lab(one), from_lab(other));
        assert!((found - expected).abs() < 2e-3, "{one:?} {other:?}: {found}");
    }
}
