//! Where the panes are.

use ratatui::layout::Rect;

use super::model::{Model, Pane};

/// Narrower screens show one pane at a time.
const NARROW: u16 = 80;
/// Lower screens show no prompt beside the rest.
const LOW: u16 = 14;

/// The parts of the screen. Each pane has a line above it for its title, which is no part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Areas {
    /// The timeline.
    pub list: Rect,
    /// The diff.
    pub diff: Rect,
    /// The prompt.
    pub prompt: Rect,
    /// The last line.
    pub status: Rect,
}

impl Areas {
    /// The pane at a place of the screen, its title with it.
    pub fn pane_at(&self, column: u16, row: u16) -> Option<Pane> {
        let panes = [
            (self.list, Pane::List),
            (self.diff, Pane::Diff),
            (self.prompt, Pane::Prompt),
        ];
        let has = |area: &Rect| {
            !area.is_empty()
                && (area.x..area.right()).contains(&column)
                && (area.y.saturating_sub(1)..area.bottom()).contains(&row)
        };
        panes
            .into_iter()
            .find(|(area, _)| has(area))
            .map(|(_, pane)| pane)
    }
}

/// Lays the screen out.
pub fn areas(model: &Model) -> Areas {
    let (width, height) = model.size;
    let body = height.saturating_sub(1);
    let status = Rect::new(0, body, width, height.min(1));
    let below_title =
        |x, y, width, height: u16| Rect::new(x, y + 1, width, height.saturating_sub(1));
    if width < NARROW {
        let whole = below_title(0, 0, width, body);
        let mut areas = Areas {
            status,
            ..Areas::default()
        };
        match model.pane {
            Pane::List => areas.list = whole,
            Pane::Diff => areas.diff = whole,
            Pane::Prompt => areas.prompt = whole,
        }
        return areas;
    }
    let low = height < LOW && model.pane != Pane::Prompt;
    let prompt = if low { 0 } else { (height / 4).clamp(4, 12) };
    let upper = body.saturating_sub(prompt);
    let left = (width * 2 / 5).clamp(36, 90);
    Areas {
        list: below_title(0, 0, left, upper),
        // A column between them for the line.
        diff: below_title(left + 1, 0, width - left - 1, upper),
        prompt: if low {
            Rect::default()
        } else {
            below_title(0, upper, width, prompt)
        },
        status,
    }
}

/// How many lines the prompt has.
pub fn prompt_lines(model: &Model) -> usize {
    model.text_below().1.lines().count()
}
