//! A text editor with a cursor.

/// Lines, and the cursor's position in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    lines: Vec<Vec<char>>,
    line: usize,
    column: usize,
}

impl Editor {
    /// Creates an editor with the cursor at the end of the text.
    pub(crate) fn new(text: &str) -> Self {
        let mut lines: Vec<Vec<char>> = { text.split('\n') }
            .map(|line| line.chars().filter(|c| !c.is_control()).collect())
            .collect();
        while lines.len() > 1 && lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        let line = lines.len() - 1;
        let column = lines[line].len();
        Self {
            lines,
            line,
            column,
        }
    }

    pub(crate) fn text(&self) -> String {
        let lines = self
            .lines
            .iter()
            .map(|line| line.iter().collect::<String>());
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn lines(&self) -> &[Vec<char>] {
        &self.lines
    }

    /// Returns the line and column of the cursor.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        (self.line, self.column)
    }

    pub(crate) fn move_to(&mut self, (line, column): (usize, usize)) {
        self.line = line.min(self.lines.len() - 1);
        self.column = column.min(self.lines[self.line].len());
    }

    /// Inserts a character, or a line break. Tabs become two spaces.
    pub(crate) fn insert(&mut self, character: char) {
        match character {
            '\n' => {
                let rest = self.lines[self.line].split_off(self.column);
                self.lines.insert(self.line + 1, rest);
                (self.line, self.column) = (self.line + 1, 0);
            }
            '\t' => [' ', ' '].into_iter().for_each(|space| self.insert(space)),
            c if c.is_control() => {}
            c => {
                self.lines[self.line].insert(self.column, c);
                self.column += 1;
            }
        }
    }

    pub(crate) fn backspace(&mut self) {
        if self.column > 0 {
            self.column -= 1;
            self.lines[self.line].remove(self.column);
        } else if self.line > 0 {
            let rest = self.lines.remove(self.line);
            self.line -= 1;
            self.column = self.lines[self.line].len();
            self.lines[self.line].extend(rest);
        }
    }

    pub(crate) fn delete(&mut self) {
        let before = self.cursor();
        self.right();
        if self.cursor() != before {
            self.backspace();
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new("");
    }

    pub(crate) fn left(&mut self) {
        if self.column > 0 {
            self.column -= 1;
        } else if self.line > 0 {
            self.line -= 1;
            self.end();
        }
    }

    pub(crate) fn right(&mut self) {
        if self.column < self.lines[self.line].len() {
            self.column += 1;
        } else if self.line + 1 < self.lines.len() {
            (self.line, self.column) = (self.line + 1, 0);
        }
    }

    pub(crate) fn up(&mut self, lines: usize) {
        self.move_to((self.line.saturating_sub(lines), self.column));
    }

    pub(crate) fn down(&mut self, lines: usize) {
        self.move_to((self.line + lines, self.column));
    }

    pub(crate) fn home(&mut self) {
        self.column = 0;
    }

    pub(crate) fn end(&mut self) {
        self.column = self.lines[self.line].len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_in_the_text() {
        let mut editor = Editor::new("ab\nc\n");
        for character in "d\n\te\u{7}".chars() {
            editor.insert(character);
        }
        assert_eq!(editor.text(), "ab\ncd\n  e");
        (0..4).for_each(|_| editor.backspace());
        assert_eq!(
            (editor.text().as_str(), editor.cursor()),
            ("ab\ncd", (1, 2))
        );
        editor.up(1);
        editor.delete();
        assert_eq!(editor.text(), "abcd");
        editor.home();
        editor.left();
        editor.delete();
        assert_eq!(editor.text(), "bcd");
        editor.move_to((9, 9));
        editor.right();
        assert_eq!(editor.cursor(), (0, 3));
        editor.clear();
        editor.backspace();
        editor.delete();
        assert_eq!(editor.text(), "");
    }
}
