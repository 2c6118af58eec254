"""The page in a real browser: switches, lines that are lit, the keyboard, dark, narrow."""

import numpy as np
import pytest

import opweave as ow
from opweave._programs import page
from opweave.opcodes.errors import NoCompilerError
from tests.html.browser import CHROMIUM, found_in

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")
X = np.ones((64, 1000), np.float32)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)  # </script><script>document.body.remove()</script>


@pytest.fixture(scope="module")
def text():
    """The page, without counts."""

    def profile(*_):
        raise NoCompilerError("not asked for")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "profile", profile)
        return page.page_of(ow.fuse(softmax).lower(X, target="sm_90a"), (X,))


CODE = 'const code = () => document.querySelector(".ow-source .ow-code").innerText.trimEnd();'
SWITCH = """const one = [...document.querySelectorAll(".ow-switch")]
  .find(s => s.textContent.includes("%s")).querySelector("input,select");"""
LIT = """const lit = n => getComputedStyle(document.querySelector(`main [data-l="${n}"]`)).backgroundColor;"""
KEY = 'const key = k => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true, cancelable: true}));'


def test_switches_and_keys(text, tmp_path):
    fused = ow.fuse(softmax)
    flipped = fused.with_toggles(USE_REGISTER_ROW=0).lower(X, target="sm_90a").source
    halved = fused.with_toggles(LANES=2).lower(X, target="sm_90a").source
    found = found_in(tmp_path, text, {
        "before": f"{CODE} return code();",
        "flipped": f"{CODE} {SWITCH % 'USE_REGISTER_ROW'} one.click(); return code();",
        "says": 'return document.querySelector("[aria-live]").textContent;',
        "marked": 'return document.querySelectorAll(".ow-source .ow-new").length;',
        "lanes": f"""{CODE} {SWITCH % 'LANES'} one.value = [...one.options].find(o => o.text === "2").value;
          one.dispatchEvent(new Event("change")); return code();""",
        "others": f"{SWITCH % 'USE_REGISTER_ROW'} return one.checked;",
        "back": f"""{CODE} {SWITCH % 'LANES'} one.value = "0";
          one.dispatchEvent(new Event("change")); return code();""",
        "dark_line": f"{LIT} return lit(2);",
        "focused": f"""{LIT} {KEY} document.querySelector('.ow-beside [data-l="2"]').focus(); return lit(2);""",
        "next": f"{LIT} {KEY} key('ArrowDown'); return [document.activeElement.dataset.l, lit(2), lit(3)];",
        "moved": f"{KEY} key('Enter'); return scrollY > 0;",
        "clicked": """document.querySelector('main [data-l="2"]').click();
          return document.activeElement.dataset.l;""",
    })  # fmt: skip
    source = fused.lower(X, target="sm_90a").source.rstrip()

    assert found["before"] == source == found["back"]
    assert found["flipped"] == flipped.rstrip()
    assert found["says"].startswith("USE_REGISTER_ROW=0: ")
    assert found["marked"] > 0
    assert found["lanes"] == halved.rstrip()
    assert found["others"] is True
    assert found["dark_line"] != found["focused"] == found["next"][2]
    assert found["next"] == ["3", found["dark_line"], found["focused"]]
    assert (found["moved"], found["clicked"]) == (True, "2")


LOOKS = {
    "background": "return getComputedStyle(document.body).backgroundColor;",
    "wide": "return document.documentElement.scrollWidth <= innerWidth;",
    "columns": """return document.querySelector("main").getBoundingClientRect().left
      > document.querySelector(".ow-beside").getBoundingClientRect().right - 1;""",
}  # fmt: skip


@pytest.mark.parametrize(("dark", "width", "background", "columns"), [
    (False, 1400, "rgb(255, 255, 255)", True), (True, 500, "rgb(20, 24, 29)", False),
])  # fmt: skip
def test_light_and_dark_wide_and_narrow(text, tmp_path, dark, width, background, columns):
    found = found_in(tmp_path, text, LOOKS, dark=dark, width=width)

    assert found == {"background": background, "wide": True, "columns": columns}
