"""The model, offline or live, behind one call: ``client.messages.create(...)``.

Offline is the default and needs no key and no network. The SDK is imported only where a
person asked for the live model or for an error in the SDK's own clothes: it takes longer to
import than a whole offline run.

Left out: retries and timeouts, which are the SDK's own; streaming.
"""
import copy
import os
import re
import sys
from types import SimpleNamespace

from .agent import MAX_TOKENS, MODEL  # the one place that names them
from .errors import CourseError
from .moments import plain
from .scripted_api import ScriptedAPI, ScriptExhausted  # noqa: F401  (both are found here too)

_KEY = "ANTHROPIC_API_KEY"
_REDACTED = "[key]"
_BY_STATUS = {
    401: "The API did not accept the key (401): check what {key} holds, or make a new key.",
    403: "The key in {key} may not do this (403): {message}",
    404: "The API does not know this (404): {message}",
    429: "The API's rate limit is reached (429), also after the SDK's own retries: wait a little, then resume.",
    529: "The API is overloaded (529), also after the SDK's own retries: wait a little, then resume.",
}


class RequestRefused(CourseError):
    """The API answered with an error: ``status`` (400) and ``body`` (its JSON).

    ``str()`` is what the SDK's own error prints; ``explain`` puts it into a sentence.
    """

    def __init__(self, status, body):
        super().__init__(status, body)  # so that it survives the way out of a child process
        self.status, self.body = status, body

    def __str__(self):
        return f"Error code: {self.status} - {self.body}"


class Reply:
    """A response, as far as this course reads it: ``to_dict()``, as on the SDK's Message."""

    def __init__(self, body):
        self._body = body

    def to_dict(self):
        """A copy of its own for each caller."""
        return copy.deepcopy(self._body)


class OfflineClient:
    """A client whose model plays ``script``; see ScriptedAPI for script and log.

    ``messages.create(model=..., max_tokens=..., messages=[...], ...)`` gives a Reply. Raises
    RequestRefused where the API would refuse, ScriptExhausted after the script's end.
    """

    def __init__(self, script, *, log=None):
        self._api = ScriptedAPI(script, log=log)
        self.messages = SimpleNamespace(create=self._create)

    def _create(self, **request):
        status, body = self._api.answer(request)
        if status != 200:
            raise RequestRefused(status, body)
        return Reply(body)


def live_client(**options):
    """The SDK's client; options are anthropic.Anthropic's own (base_url, timeout, max_retries).

    Raises CourseError without a usable key in the environment.
    """
    key = os.environ.get(_KEY, "")
    if not key.strip():
        raise CourseError(f"The live model needs a key: put yours into the environment variable {_KEY}, or stay with the offline model.")
    if re.search(r"[^!-~]", key):
        # The HTTP library would refuse it with an error, and a traceback, that quote the key.
        raise CourseError(f"The key in {_KEY} has a space, a line break or another odd character in it: set it again, without that.")
    import anthropic

    return anthropic.Anthropic(**options)


def as_sdk_error(refusal):
    """The SDK's own error (anthropic.BadRequestError for a 400) for a RequestRefused, to show to people."""
    import anthropic
    import httpx2

    # The SDK builds its error itself, from a response that never saw a network.
    headers = {"request-id": refusal.body.get("request_id", "")}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(refusal.status, json=refusal.body, headers=headers))
    with anthropic.Anthropic(api_key="offline", max_retries=0, http_client=httpx2.Client(transport=transport)) as client:
        try:
            client.messages.create(model=MODEL, max_tokens=1, messages=[{"role": "user", "content": "replay"}])
        except anthropic.APIStatusError as error:
            return error.with_traceback(None)


def explain(error):
    """Say in one sentence what went wrong with a request, and what to do. Never holds the key.

    error: an exception of the SDK's, a RequestRefused, or any other.
    """
    return plain(_without_key(" ".join(_explain(error).split())))


def _explain(error):
    sdk = sys.modules.get("anthropic")  # not imported: then it can't be an error of the SDK's
    if isinstance(error, RequestRefused):
        return _explain_status(error.status, error.body, error)
    if sdk and isinstance(error, sdk.APIStatusError):
        return _explain_status(error.status_code, error.body, error)
    if sdk and isinstance(error, sdk.APITimeoutError):
        return "The API did not answer in time: check the network, then resume."
    if sdk and isinstance(error, sdk.APIConnectionError):
        if type(error.__cause__).__name__ == "LocalProtocolError":  # its text is the header, key and all
            return f"The request could not be sent: check that the key in {_KEY} is one line without spaces."
        return f"The API could not be reached ({error.__cause__ or error}): check the network, then resume."
    return str(error) if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"


def _explain_status(status, body, error):
    try:
        message = str(body["error"]["message"])
    except (KeyError, TypeError):  # a proxy's page, or nothing
        message = str(error)
    if status in _BY_STATUS:
        return _BY_STATUS[status].format(key=_KEY, message=message)
    if status >= 500:
        return f"The API failed on its own side ({status}): wait a little, then resume."
    return f"The API refused the request ({status}): {message}"


def _without_key(text):
    text = re.sub(r"sk-ant-[^\s'\"]*", _REDACTED, text)
    # An error may quote a key with its line break spelled \n, so each unbroken piece of it goes too.
    key = os.environ.get(_KEY, "")
    for piece in [key, *re.findall(r"[\w-]{4,}", key, re.ASCII)]:
        text = text.replace(piece, _REDACTED) if piece.strip() else text
    return text
