"""Whether a text is well-formed HTML, what it says, and which of its lines are linked."""

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link", "line", "circle", "path", "rect", "polyline"}


class Read(HTMLParser):
    """A text as a parser sees it.

    Attributes:
        faults: tags that close nothing, or stay open.
        tags: the names of all tags.
        text: what stands between them, styles and scripts left out.
        linked: the text of each element that belongs to a line of the function, by line.
    """

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.faults, self.tags, self.text = [], [], ""
        self.linked, self.attributes = {}, []
        self._open, self._inside = [], []
        self.feed(source)
        self.close()
        self.faults += [f"<{tag}> stays open" for tag, _ in self._open]

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            line = dict(attrs).get("data-l")
            self._open.append((tag, line))
            if line:
                self.linked.setdefault(int(line), []).append("")

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self._open or self._open[-1][0] != tag:
            self.faults.append(f"</{tag}> closes {self._open[-1:]}")
            return
        self._open.pop()

    def handle_data(self, data):
        if any(tag in ("style", "script") for tag, _ in self._open):
            return
        self.text += data
        line = next((line for _, line in reversed(self._open) if line), None)
        if line:
            self.linked[int(line)][-1] += data
