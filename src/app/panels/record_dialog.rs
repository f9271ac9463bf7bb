//! The dialog for a recording: which programs, which data, and how much of it.

use std::time::Duration;

use eframe::egui::{self, RichText, Ui};

use super::context::PanelContext;
use crate::app::base::table::{TypedColumn, TypedTable};
use crate::app::commands::{Commands, RecordCommand};
use crate::app::services::record_dialog::{Form, RecordDialog, StopField, Way};
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, Value, widest};
use crate::capture::{MAX_CONDITIONS, Measure, Program, Ring};
use crate::format;
use crate::query::layer_meaning;
use crate::units::Layer;

static COLUMNS: [TypedColumn<(), Program>; 5] = [
    ListColumn::rest("Program", "The foreground program first, then those with most private bytes").of(|_, program| {
        match &*program.title {
            "" => Value::text(&program.name),
            title => Value::Text(format!("{} \u{2013} {title}", program.name)),
        }
    }),
    ListColumn::number("Pid", "Process id", "999999").of(|_, program| Value::Number(program.pid.into())),
    ListColumn::number("Private bytes", "Memory that only this process uses", widest::BYTES)
        .of(|_, program| program.private_bytes.map_or(Value::Nothing, Value::Bytes)),
    ListColumn::number("Bits", "32 or 64", "64")
        .of(|_, program| program.is_32_bit.map_or(Value::Nothing, |narrow| Value::Number(if narrow { 32 } else { 64 }))),
    ListColumn::text("User", "Account that it runs under", 120.0).of(|_, program| Value::text(&program.user)),
];

/// Lengths of the ring buffer to choose from, in minutes.
const RINGS: [u64; 5] = [1, 2, 5, 15, 60];

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let Some(dialog) = context.record_dialog else { return };
    let screen = ctx.content_rect();
    let commands = &mut context.commands;
    let dialog = egui::Modal::new(egui::Id::unique("attach")).show(ctx, |ui| {
        ui.set_width(680.0f32.min(screen.width() - 60.0));
        ui.heading("Record a program");
        let mut form = dialog.form.clone();
        ways(&mut form, ui);
        ui.add_space(4.0);
        // Approximate height of everything around the list.
        let below = STOP_ROW * rows_of(&form) + VOLUME_ROW * further_lines(dialog);
        let height = (screen.height() - 374.0 - below).clamp(90.0, 330.0);
        match form.way {
            Way::Running => programs(dialog, &mut form, height, commands, ui),
            Way::Launch => launch(&mut form, ui),
            Way::ByName => by_name(&mut form, ui),
        }
        ui.add_space(6.0);
        what(&mut form, ui);
        stops(&mut form, ui);
        ui.add_space(4.0);
        volume(dialog, &form, ui);
        ui.separator();
        buttons(dialog, &form, commands, ui);
        if form != dialog.form {
            commands.push(RecordCommand::Change(Box::new(form)));
        }
    });
    if dialog.should_close() {
        commands.push(RecordCommand::Show(false));
    }
}

fn ways(form: &mut Form, ui: &mut Ui) {
    ui.horizontal_wrapped(|ui| {
        ui.selectable_value(&mut form.way, Way::Running, "Running programs");
        ui.selectable_value(&mut form.way, Way::Launch, "Start a program");
        ui.selectable_value(&mut form.way, Way::ByName, "Wait for a program");
    });
}

fn field(ui: &mut Ui, text: &mut String, label: &'static str, hint: &str) {
    let field = ui.add(egui::TextEdit::singleline(text).hint_text(hint).desired_width(f32::INFINITY));
    field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, label));
}

fn programs(dialog: &RecordDialog, form: &mut Form, height: f32, commands: &mut Commands, ui: &mut Ui) {
    field(ui, &mut form.search, "Search programs", "Search by name, title or pid");
    ui.add_space(2.0);
    let found = dialog.found();
    ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
        ui.set_min_height(height);
        if let Some(problem) = &dialog.problem {
            ui.colored_label(ui.visuals().error_fg_color, problem);
        } else if dialog.is_listing() {
            ui.weak("Looking for programs\u{2026}");
        } else if found.is_empty() {
            ui.weak("No program matches the search.");
        } else {
            let found: Vec<&Program> = found.into_iter().filter_map(|at| dialog.programs.get(at)).collect();
            let pushed = list::show_short(ui, "programs", &Found(&found), &mut Programs { found: &found, form });
            commands.append(pushed);
        }
    });
}

struct Programs<'a> {
    found: &'a [&'a Program],
    form: &'a mut Form,
}

/// The programs that match the search.
struct Found<'a>(&'a [&'a Program]);

impl TypedTable for Found<'_> {
    type Column = &'static TypedColumn<(), Program>;

    fn title(&self) -> &'static str {
        "Programs"
    }

    fn columns(&self) -> impl IntoIterator<Item = Self::Column> {
        &COLUMNS
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn value(&self, row: usize, column: Self::Column) -> Value {
        self.0.get(row).map_or(Value::Nothing, |program| (column.value)(&(), program))
    }
}

impl List<Found<'_>> for Programs<'_> {
    fn cell(&mut self, ui: &mut Ui, row: usize, column: ColumnOf<Found<'_>>, value: &Value) {
        let Some(program) = self.found.get(row).filter(|_| column.head.is_rest()) else {
            return list::plain(self, ui, row, column, value);
        };
        let text = RichText::new(value.to_string());
        let text = if program.is_in_front { text.strong() } else { text };
        let mut wanted = self.is_selected(row);
        if ui.add(egui::Checkbox::new(&mut wanted, text)).clicked() {
            self.clicked(row);
        }
    }

    fn is_selected(&self, row: usize) -> bool {
        self.found.get(row).is_some_and(|program| self.form.pids.contains(&program.pid))
    }

    fn clicked(&mut self, row: usize) {
        let Some(pid) = self.found.get(row).map(|program| program.pid) else { return };
        match self.form.pids.iter().position(|&chosen| chosen == pid) {
            Some(at) => drop(self.form.pids.remove(at)),
            None => self.form.pids.push(pid),
        }
    }
}

fn launch(form: &mut Form, ui: &mut Ui) {
    field(ui, &mut form.command, "Command line", r#""C:\Games\game.exe" -windowed"#);
    field(ui, &mut form.child, "Name of its child program", "If it is a launcher, the file name of what it starts: game.exe");
    ui.add(
        egui::Label::new(
            RichText::new(
                "The program runs under your account, without administrator rights, and is recorded from its first instruction. \
                 Of its child programs, commit and trackers are recorded; their heaps only with the file name above, which \
                 Windows must know before they start.",
            )
            .weak(),
        )
        .wrap(),
    );
}

fn by_name(form: &mut Form, ui: &mut Ui) {
    field(ui, &mut form.image, "File name", "game.exe");
    ui.add(
        egui::Label::new(
            RichText::new(
                "Records every program with this file name that starts from now on. For this, the registry value TracingFlags \
         under Image File Execution Options is set, and restored when the recording ends.",
            )
            .weak(),
        )
        .wrap(),
    );
}

fn what(form: &mut Form, ui: &mut Ui) {
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut form.what.heap, "Windows NT heaps").on_hover_text(layer_meaning(Layer::Heap));
        ui.checkbox(&mut form.what.commit, "Commit").on_hover_text(layer_meaning(Layer::Commit));
        ui.checkbox(&mut form.what.trackers, "Custom trackers").on_hover_text(layer_meaning(Layer::Tracker));
        ui.separator();
        ui.checkbox(&mut form.what.stacks, "Call stacks");
        ui.add_enabled_ui(form.what.stacks, |ui| {
            ui.checkbox(&mut form.what.free_stacks, "of frees too")
                .on_hover_text("Also record where blocks are freed; about twice as much data");
        });
    });
    record_options(form, ui);
    ui.horizontal(|ui| {
        ui.label("Keep");
        let text = |ring: Option<Ring>| match ring {
            Some(Ring::Time(time)) => format!("the last {} min", time.as_secs() / 60),
            Some(Ring::Bytes(bytes)) => format!("the last {}", format::bytes(bytes)),
            None => "everything".to_owned(),
        };
        let shown = egui::ComboBox::from_id_salt("ring").selected_text(text(form.what.ring));
        shown.show_ui(ui, |ui| {
            let rings = RINGS.map(|minutes| Some(Ring::Time(Duration::from_secs(60 * minutes))));
            for ring in [None].into_iter().chain(rings) {
                ui.selectable_value(&mut form.what.ring, ring, text(ring));
            }
        });
    });
}

fn record_options(form: &mut Form, ui: &mut Ui) {
    const WORDS: f32 = 200.0;
    ui.horizontal(|ui| {
        ui.checkbox(&mut form.what.frames, "Frames").on_hover_text(
            "Frames that the program presents: Direct3D, on Windows 11 also Vulkan and OpenGL, and UIforETW's frame marks",
        );
        ui.checkbox(&mut form.what.gpu, "GPU memory")
            .on_hover_text("GPU memory that the program uses, its budget, and what it has committed");
        ui.checkbox(&mut form.what.managed, ".NET").on_hover_text("Names of .NET methods, and garbage collections");
        ui.checkbox(&mut form.what.samples, "CPU samples")
            .on_hover_text("What the program runs, with call stacks: about 1,000 samples per second and busy CPU");
        ui.separator();
        ui.label("Marks of");
        let hint = "Provider, \u{2026}";
        let field = ui.add(egui::TextEdit::singleline(&mut form.marks).hint_text(hint).desired_width(WORDS));
        field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Providers of marks"));
        field.on_hover_text("Event providers by name or GUID, separated by commas: each of their events becomes a mark");
    });
}

/// Height of a row of conditions in points, and number of conditions in a row.
const STOP_ROW: f32 = 26.0;
const STOPS_A_ROW: usize = 2;

/// Rows of conditions beyond the first.
fn rows_of(form: &Form) -> f32 {
    // The button that adds one follows the last.
    (form.stops.len() / STOPS_A_ROW) as f32
}

/// The conditions that end the recording by themselves.
fn stops(form: &mut Form, ui: &mut Ui) {
    let mut gone = None;
    let last = form.stops.len();
    for row in 0..=last / STOPS_A_ROW {
        ui.horizontal(|ui| {
            ui.label(match (row, last) {
                (0, 0) => "Stop by hand,",
                (0, _) => "Stop when",
                _ => "or",
            });
            let from = row * STOPS_A_ROW;
            for (at, stop) in form.stops.iter_mut().enumerate().skip(from).take(STOPS_A_ROW) {
                if at > from {
                    ui.label("or");
                }
                if condition(stop, at, ui) {
                    gone = Some(at);
                }
            }
            if row == last / STOPS_A_ROW && last < MAX_CONDITIONS {
                add_stop(&mut form.stops, ui);
            }
        });
    }
    gone.map(|at| form.stops.remove(at));
}

fn add_stop(stops: &mut Vec<StopField>, ui: &mut Ui) {
    let menu = ui.menu_button("or when\u{2026}", |ui| {
        for measure in Measure::ALL {
            if ui.button(label(measure)).on_hover_text(explained(measure)).clicked() {
                stops.push(StopField::new(measure));
                ui.close();
            }
        }
    });
    menu.response.on_hover_text(
        "The recording stops by itself when one of these happens. Keep only the last minutes to get what led up to it",
    );
}

/// One condition; returns whether to remove it.
fn condition(stop: &mut StopField, at: usize, ui: &mut Ui) -> bool {
    const NUMBER: f32 = 70.0;
    let measure = stop.measure;
    let shown = egui::ComboBox::from_id_salt(("stop", at)).selected_text(label(measure)).width(160.0);
    let shown = shown.show_ui(ui, |ui| {
        for other in Measure::ALL {
            if ui.selectable_label(other == measure, label(other)).on_hover_text(explained(other)).clicked() && other != measure {
                *stop = StopField::new(other);
            }
        }
    });
    shown.response.on_hover_text(explained(measure));
    ui.label(measure.sign().to_string());
    let wrong = stop.condition().err();
    let mut field = egui::TextEdit::singleline(&mut stop.value).hint_text(measure.example()).desired_width(NUMBER);
    if wrong.is_some() {
        field = field.text_color(ui.visuals().error_fg_color);
    }
    let field = ui.add(field);
    field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, format!("Stop at {}", label(measure))));
    if let Some(wrong) = wrong {
        field.on_hover_text(wrong);
    }
    ui.small_button("\u{d7}").on_hover_text("Remove this condition").clicked()
}

fn label(measure: Measure) -> &'static str {
    match measure {
        Measure::Private => "Program's private bytes",
        Measure::Commit => "Machine's commit",
        Measure::Free => "Machine's free memory",
        Measure::Growth => "Program's growth",
    }
}

fn explained(measure: Measure) -> &'static str {
    match measure {
        Measure::Private => "Private bytes of the largest recorded process: for example 8G",
        Measure::Commit => "The machine's commit charge, as a share of its limit or in bytes: 90% or 60G",
        Measure::Free => "Available physical memory of the machine: for example 500M",
        Measure::Growth => "Growth of a process's private bytes over ten seconds (spikes do not count): for example 10M/s",
    }
}

/// Bytes of an allocation, its free and the stack of each in a trace (`events` layouts; a stack of 30 frames).
const ALLOCATION: u64 = 64;
const FREE: u64 = 56;
const STACK: u64 = 280;

/// The limit that `capture::properties::most_buffer_memory` sets.
const BUFFERS: &str = "Windows buffers events in up to 2 GB of memory, or 1/8 of the machine's memory if that is less.";

/// Height of a line about the amount of data in points, and number of these lines beyond the usual two.
const VOLUME_ROW: f32 = 20.0;

fn further_lines(dialog: &RecordDialog) -> f32 {
    dialog.measured().and_then(|lines| lines.as_ref().ok()).map_or(0.0, |lines| lines.len().saturating_sub(2) as f32)
}

/// The amount of data to expect: as it was measured, else in examples.
fn volume(dialog: &RecordDialog, form: &Form, ui: &mut Ui) {
    match dialog.measured() {
        _ if dialog.is_measuring() => drop(ui.weak("Recording one second to estimate\u{2026}")),
        Some(Ok(lines)) => lines.iter().for_each(|line| drop(ui.weak(line))),
        Some(Err(reason)) => drop(ui.colored_label(ui.visuals().error_fg_color, reason)),
        None => {
            ui.weak(examples(form));
            ui.weak(BUFFERS);
        }
    }
}

/// The amount of data to expect at two rates of allocation, since the program's rate is not known.
fn examples(form: &Form) -> String {
    if !(form.what.heap || form.what.trackers) {
        return "Commit alone needs little: some KB to MB per second.".to_owned();
    }
    let stacks = u64::from(form.what.stacks) + u64::from(form.what.stacks && form.what.free_stacks);
    let each = ALLOCATION + FREE + stacks * STACK;
    let rate = |n: u64| format::rough_bytes(n * each);
    format!(
        "Expect about {each} bytes for each block: {}/s at 10,000 blocks a second, {}/s at a million.",
        rate(10_000),
        rate(1_000_000)
    )
}

fn buttons(dialog: &RecordDialog, form: &Form, commands: &mut Commands, ui: &mut Ui) {
    let request = form.request();
    let can_start = request.is_ok() && !dialog.is_measuring();
    ui.horizontal(|ui| {
        commands.on_click(&ui.add_enabled(can_start, egui::Button::new("Start recording")), RecordCommand::Start);
        let estimate = ui.add_enabled(can_start && form.way != Way::Launch, egui::Button::new("Estimate"));
        let estimate = estimate.on_hover_text(
            "Records one second to estimate the data per minute, and keeps nothing. Windows asks for administrator rights for \
             this, too",
        );
        commands.on_click(&estimate, RecordCommand::Estimate);
        commands.on_click(&ui.button("Cancel"), RecordCommand::Show(false));
        match request {
            Err(reason) => ui.add(egui::Label::new(RichText::new(reason.to_string()).weak()).wrap()),
            Ok(_) => ui.weak("Windows will ask for administrator rights."),
        };
    });
}
