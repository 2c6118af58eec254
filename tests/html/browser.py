"""A page in headless Chromium, if it is installed: what a script finds in it, and pictures."""

import json
import re
import shutil
import subprocess
from html import unescape

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--disable-dev-shm-usage", "--virtual-time-budget=2000")  # fmt: skip


def found_in(folder, page, script, *, dark=False, width=1400):
    """What a script, a list of expressions by name, finds in a page that was loaded."""
    asked = ", ".join(f"{name}: await (async () => {{{text}}})()" for name, text in script.items())
    # a window that has no focus yet has no element in focus either
    ready = "while (!document.hasFocus()) await new Promise(then => setTimeout(then, 10));"
    ask = f"(async () => {{ {ready} document.title = JSON.stringify({{{asked}}}); }})();"
    made = page.replace("</body>", f"<script>{ask}</script></body>")
    dumped = _run(folder, made, "--dump-dom", dark=dark, width=width)
    return json.loads(unescape(re.search(r"<title>(.*?)</title>", dumped, re.DOTALL)[1]))


def _run(folder, page, *asked, dark, width):
    path = folder / "page.html"
    path.write_text(page, "utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [
        CHROMIUM,
        *FLAGS,
        profile,
        scheme,
        f"--window-size={width},900",
        *asked,
        path.as_uri(),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return ran.stdout
