"""JSON-RPC as the server speaks it: every request gets one answer, and nothing is kept of what has been answered.

This is the only file that touches the inside of pygls (seen on 2.1.1), and it mends three things there: a message that
cannot be read was logged and left without an answer; the future of every notification was kept for ever; cancelling a
command left the command running. Where pygls mends one itself, the override here can go.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Optional, Union, cast

import attrs
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCResponseMessage
from pygls.protocol.language_server import _prepare_command_arguments  # pyright: ignore[reportPrivateUsage]

log = logging.getLogger("compile_lens")

Message = dict[str, Any]
_Handlers = dict[str, Callable[..., Any]]
MessageId = Union[str, int, float, None]
_OWN_DOCUMENTS = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)
"""What pygls would handle to keep texts of its own; ours are in `documents`."""


class Protocol(LanguageServerProtocol):
    """Judges each message as a whole, then has pygls run its handler."""

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        manager: Any = self.fm
        self._builtin: _Handlers = manager.builtin_features
        self._handlers: _Handlers = manager.features
        self._commands: _Handlers = manager.commands
        for method in _OWN_DOCUMENTS:
            self._builtin.pop(method, None)
        self._shutdown_id: MessageId = None

    # --- reading -------------------------------------------------------------------------------------------------

    def structure_message(self, data: Message) -> Message:
        """Nothing yet: this is called for each object inside a message too."""
        return data

    def handle_message(self, message: Any) -> None:
        """Answer a request, follow a notification, take a response; what is none of them is refused."""
        if not isinstance(message, dict):
            return self.refuse(None, JsonRpcInvalidRequest("a message must be an object"))
        message = cast("Message", message)
        context = contextvars.copy_context()
        if "method" not in message and "id" in message:
            context.run(self._take_response, message)
        elif "id" in message or "method" not in message:
            context.run(self._take_request, message)
        else:
            context.run(self._take_notification, message)
        return None

    def refuse(self, request_id: MessageId, error: JsonRpcException) -> None:
        """Answer with an error."""
        log.warning("refused a message (id %.100r): %.300s", request_id, error)
        answer = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": request_id, "error": answer})

    def refuse_unreadable(self, error: Exception) -> None:
        """Answer to a frame that holds no JSON."""
        self.refuse(None, JsonRpcParseError(f"Parse Error: {type(error).__name__}: {error}"))

    def _take_request(self, message: Message) -> None:
        request_id, method = message.get("id"), message.get("method")
        if isinstance(request_id, bool) or not isinstance(request_id, (str, int, float)):
            return self.refuse(None, JsonRpcInvalidRequest("a request's id must be a string or a number"))
        problem = self._problem(message, request=True)
        if problem is not None:
            return self.refuse(request_id, problem)
        method = cast("str", method)
        try:
            params = self._params(message)
        except Exception as error:
            log.debug("%s cannot be read", method, exc_info=True)
            return self.refuse(request_id, JsonRpcInvalidParams(f"Invalid Params: {_fault(error)}"))
        if method == types.SHUTDOWN:
            self._shutdown, self._shutdown_id = True, request_id
        self._handle_request(cast("Any", request_id), method, params)
        return None

    def _take_notification(self, message: Message) -> None:
        problem = self._problem(message, request=False)
        if problem is not None:
            log.info("ignored a notification: %.300s", problem)
            return
        method = cast("str", message["method"])
        try:
            params = self._params(message)
        except Exception as error:
            log.warning("ignored %s, it cannot be read: %.300s", method, _fault(error))
            return
        self._handle_notification(method, params)

    def _problem(self, message: Message, *, request: bool) -> Optional[JsonRpcException]:
        """Why a message may not be handled, whatever its parameters are."""
        method = message.get("method")
        if not isinstance(method, str) or message.get("jsonrpc") != self.VERSION:
            return JsonRpcInvalidRequest('a message needs "jsonrpc": "2.0" and a method')
        if self._shutdown and method != types.EXIT:
            return JsonRpcInvalidRequest(f"{method} after shutdown")
        if not self._initialized and method not in (types.INITIALIZE, types.EXIT):
            return JsonRpcServerNotInitialized(f"{method} before initialize")
        if self._initialized and method == types.INITIALIZE:
            return JsonRpcInvalidRequest("initialize was sent before")
        if method not in self._handlers and method not in self._builtin and method != types.CANCEL_REQUEST:
            return JsonRpcMethodNotFound.of(method)
        kind = self.get_message_type(method)
        if kind is not None and request != ("id" in attrs.fields_dict(kind)):
            return JsonRpcInvalidRequest(f"{method} is {'no request' if request else 'a request and needs an id'}")
        return None

    @property
    def _initialized(self) -> bool:
        return getattr(self, "server_capabilities", None) is not None

    def _params(self, message: Message) -> Any:
        """Parameters of a message, typed where the protocol knows its method, plain data elsewhere."""
        kind = self.get_message_type(message["method"])
        return message.get("params") if kind is None else self._converter.structure(message, kind).params

    def _take_response(self, message: Message) -> None:
        """Hand an answer of the client to who asked; also one that cannot be read, or nobody would go on."""
        request_id = message["id"]
        if not isinstance(request_id, str) or request_id not in self._result_types:
            log.warning("ignored an answer to nothing that was asked (id %.100r)", request_id)
            return
        kind = self._result_types.pop(request_id) or JsonRPCResponseMessage
        future = self._request_futures.pop(request_id, None)
        if future is None or future.done():
            return
        try:
            if "error" in message:
                error = self._converter.structure(message["error"], types.ResponseError)
                future.set_exception(JsonRpcException.from_error(error))
            elif kind is JsonRPCResponseMessage:
                future.set_result(message.get("result"))
            else:
                future.set_result(self._converter.structure(message, kind).result)
        except Exception as error:
            future.set_exception(JsonRpcException(f"the client's answer cannot be read: {_fault(error)}"))

    # --- handling ------------------------------------------------------------------------------------------------

    def _execute_handler(
        self,
        msg_id: Any,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: Optional[tuple[Any, ...]] = None,
        kwargs: Optional[dict[str, Any]] = None,
    ) -> None:
        """Run a handler; its future is forgotten when it is done, of a notification too."""
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda done: self._forget(msg_id, done))

    def _forget(self, msg_id: Any, future: Future[Any]) -> None:
        if self._request_futures.get(msg_id) is future:
            del self._request_futures[msg_id]

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        """Cancel a request; one that has its answer already, or that never was, is nothing to speak of."""
        future = self._request_futures.get(msg_id) if isinstance(msg_id, (str, int)) else None
        if future is not None and msg_id not in self._result_types and msg_id != self._shutdown_id:
            future.cancel()

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, params: types.WorkDoneProgressCancelParams
    ) -> None:
        """Cancel what a progress is for; it may have ended by now, and a token may be anything."""
        progress: Any = self.progress
        token: Any = params.token
        if isinstance(token, (str, int)) and token in progress.tokens:
            progress.tokens[token].cancel()

    def send_request(
        self,
        method: str,
        params: Optional[Any] = None,
        callback: Optional[Callable[[Any], None]] = None,
        msg_id: Optional[Any] = None,
    ) -> Future[Any]:
        """Ask the client something; nothing is kept of it when the asker no longer waits."""
        known = msg_id or str(uuid.uuid4())
        future = super().send_request(method, params, callback, known)

        def ended(done: Future[Any]) -> None:
            self._forget(known, done)
            self._result_types.pop(known, None)

        future.add_done_callback(ended)
        return future

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, params: types.ExecuteCommandParams
    ) -> Any:
        """Run a command in the task of its request, so that cancelling the one ends the other."""
        handler = self._commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"there is no command {params.command!r}")
        params.arguments = params.arguments or []
        try:
            args, kwargs = _prepare_command_arguments(handler, params, self._converter)
        except Exception as error:
            raise JsonRpcInvalidParams(f"{params.command}: {_fault(error)}") from error
        result = handler(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    @lsp_method(types.SHUTDOWN)
    async def lsp_shutdown(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *args: Any
    ) -> None:
        """End what runs; requests still open are answered as cancelled."""
        handler = self._handlers.get(types.SHUTDOWN)
        if handler is not None:
            await handler(*args)
        for msg_id, future in list(self._request_futures.items()):
            if msg_id != self._shutdown_id:
                future.cancel()
        await asyncio.sleep(0)  # their answers go first

    # --- writing -------------------------------------------------------------------------------------------------

    def _send_data(self, data: Any) -> None:
        """Write one message; an answer that is no JSON becomes an error, so that it is one at all."""
        try:
            body = json.dumps(data, default=self._serialize_message, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            log.exception("a message cannot be written as JSON")
            request_id = getattr(data, "id", None)
            if request_id is None or hasattr(data, "method"):
                return
            internal = JsonRpcInternalError(f"the result cannot be written as JSON: {error}")
            return self.refuse(request_id, internal)
        encoded = body.encode("utf-8")
        try:
            if self.writer is not None:
                self.writer.write(b"Content-Length: %d\r\n\r\n" % len(encoded) + encoded)
        except ValueError:
            log.debug("not sent, the channel is closed: %.300s", body)
        return None


def _fault(error: BaseException, path: str = "") -> str:
    """What is wrong and where, out of the converter's groups of errors: ``params.position.character is missing``."""
    for note in getattr(error, "__notes__", ()):
        step = getattr(note, "name", getattr(note, "index", None))
        path += "" if step is None else f".{step}"
    nested: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    if nested:
        return "; ".join(_fault(inner, path) for inner in nested[:3])
    if isinstance(error, KeyError):
        return f"{path.rpartition('.')[0]}.{error.args[0]} is missing".strip(".")
    return f"{path.strip('.') or 'it'} cannot be read: {type(error).__name__}: {error}"[:300]
