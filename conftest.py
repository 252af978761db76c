"""What holds for every test and every notebook: no network, no key, the same choices each time."""
import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings

ROOT = Path(__file__).resolve().parent
NOBODY = "http://127.0.0.1:9"       # nothing listens on the discard port, so a connection fails at once

settings.register_profile("course", derandomize=True, deadline=None, database=None)
settings.load_profile("course")


_nobodys = TemporaryDirectory(prefix="course-")  # gone when the tests end


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of some shells; what the tests start would never hear of a Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    cut_off(os.environ)
    os.environ["COURSE_PROGRESS"] = str(Path(_nobodys.name, "progress.json"))  # not that of whoever runs the tests
    os.environ["LANGUAGE"] = "en"       # whatever the system speaks; the Portuguese notebooks go by their folder
    # The option itself would be read relative to wherever pytest was started.
    if not config.option.nbval_sanitize_with:
        config.option.nbval_sanitize_with = str(ROOT / "tests" / "sanitize.cfg")


def cut_off(environ):
    """Take keys away and lead HTTP nowhere, for notebook kernels and child programs too.

    pytest-socket (see pyproject.toml) guards only the Python that runs the tests; what that
    starts inherits the environment.
    """
    for name in [name for name in environ if name.startswith("ANTHROPIC_")]:
        del environ[name]
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        environ[name] = environ[name.upper()] = NOBODY
    environ["no_proxy"] = environ["NO_PROXY"] = "127.0.0.1,localhost,::1"
