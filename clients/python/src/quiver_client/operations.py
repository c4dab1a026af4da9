"""The operations of the API: where each is, and whether repeating it does harm."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

__all__ = ["Operation"]


@dataclass(frozen=True)
class Operation:
    """A method and a path of the service's OpenAPI document."""

    method: str
    template: str
    is_safe: bool = True
    """Whether a call whose answer was lost may be sent again: reads, and writes that end the same way."""

    @property
    def is_done_once(self) -> bool:
        """Whether the service does it once under an ``Idempotency-Key``; it ignores the header elsewhere."""
        return _DONE_ONCE.fullmatch(f"{self.method} {self.template}") is not None

    def path(self, **names: object) -> str:
        """The path with its names filled in and encoded."""
        return self.template.format(**{key: _segment(str(value)) for key, value in names.items()})


_DONE_ONCE = re.compile(
    r"POST /v1/collections(/{name}/(upsert|bulk_upsert|delete_batch|delete_by_filter|update_by_filter|quota|reshard|reembed))?"
    r"|DELETE /v1/collections/{name}(/reshard|/delete/{id})?"
    r"|PATCH /v1/collections/{name}(/vectors/{id})?"
    r"|POST /v1/documents(/upload)?|POST /v1/aliases"
    r"|POST /v1/admin/keys(/{id}/rotate)?|(PATCH|DELETE) /v1/admin/keys/{id}"
    r"|POST /v1/admin/(backups|restore)|DELETE /v1/admin/(backups|restores)/{id}"
)


def _segment(text: str) -> str:
    # Dots alone would be taken for steps through the path.
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="")


def _get(template: str) -> Operation:
    return Operation("GET", template)


def _post(template: str, *, is_safe: bool = True) -> Operation:
    return Operation("POST", template, is_safe)


SERVICE_INFO = _get("/")
METRICS = _get("/metrics")
OPENAPI = _get("/openapi.json")
HEALTH = _get("/v1/health")
ME = _get("/v1/me")
METRICS_SUMMARY = _get("/v1/metrics/summary")
# A link is good for one call.
SIGN_IN = _post("/v1/sign_in", is_safe=False)
LOAD_DEMO = _post("/v1/demo")

# What was created by a call whose answer was lost would be in the way of its repetition.
CREATE_COLLECTION = _post("/v1/collections", is_safe=False)
LIST_COLLECTIONS = _get("/v1/collections")
GET_COLLECTION = _get("/v1/collections/{name}")
UPDATE_COLLECTION = Operation("PATCH", "/v1/collections/{name}")
# The repetition would find nothing, or another collection of that name.
DELETE_COLLECTION = Operation("DELETE", "/v1/collections/{name}", is_safe=False)

LIST_ALIASES = _get("/v1/aliases")
# The repetition would find what was made, or not find what was deleted.
CHANGE_ALIASES = _post("/v1/aliases", is_safe=False)

STATS = _get("/v1/collections/{name}/stats")
OPTIMIZE = _post("/v1/collections/{name}/optimize")
PURGE = _post("/v1/collections/{name}/purge")
PURGE_STATE = _get("/v1/collections/{name}/purge")
SET_QUOTA = _post("/v1/collections/{name}/quota")
RESHARD = _post("/v1/collections/{name}/reshard", is_safe=False)
REEMBED = _post("/v1/collections/{name}/reembed", is_safe=False)
CANCEL_RESHARD = Operation("DELETE", "/v1/collections/{name}/reshard", is_safe=False)
EXPORT = _get("/v1/collections/{name}/export")
ANALYSE = _post("/v1/collections/{name}/analyse")
LIST_JUDGEMENTS = _get("/v1/collections/{name}/judgements")
GET_JUDGEMENTS = _get("/v1/collections/{name}/judgements/{id}")
PUT_JUDGEMENTS = Operation("PUT", "/v1/collections/{name}/judgements/{id}")
DELETE_JUDGEMENTS = Operation("DELETE", "/v1/collections/{name}/judgements/{id}", is_safe=False)
# Each begins a job.
EVALUATE = _post("/v1/collections/{name}/evaluate", is_safe=False)
WHY = _post("/v1/collections/{name}/why")
COUNT = _post("/v1/collections/{name}/count")
RECALL_CHECK = _post("/v1/collections/{name}/recall_check")
SAMPLE = _post("/v1/collections/{name}/sample")
DESCRIBE = _post("/v1/collections/{name}/describe")

UPSERT = _post("/v1/collections/{name}/upsert")
BULK_UPSERT = _post("/v1/collections/{name}/bulk_upsert")
DELETE = Operation("DELETE", "/v1/collections/{name}/delete/{id}")
DELETE_BATCH = _post("/v1/collections/{name}/delete_batch")
DELETE_BY_FILTER = _post("/v1/collections/{name}/delete_by_filter")
UPDATE_BY_FILTER = _post("/v1/collections/{name}/update_by_filter")
GET = _get("/v1/collections/{name}/vectors/{id}")
PATCH = Operation("PATCH", "/v1/collections/{name}/vectors/{id}")
FETCH = _post("/v1/collections/{name}/vectors/fetch")
SCROLL = _post("/v1/collections/{name}/scroll")

SEARCH = _post("/v1/collections/{name}/search")
BULK_SEARCH = _post("/v1/collections/{name}/bulk_search")
HYBRID_SEARCH = _post("/v1/collections/{name}/hybrid_search")
RERANK = _post("/v1/collections/{name}/rerank")
RECOMMEND = _post("/v1/collections/{name}/recommend/{id}")
SIMILARITY = _post("/v1/collections/{name}/similarity")
QUERY = _post("/v1/query")
# Each asks a language model anew.
ANSWER = _post("/v1/answer", is_safe=False)
RERANK_TEXTS = _post("/v1/rerank")
# Each upload is a document of its own.
UPLOAD = _post("/v1/documents/upload", is_safe=False)
# Without a key of either kind, each is a document of its own.
ADD_DOCUMENT = _post("/v1/documents", is_safe=False)
LIST_DOCUMENTS = _get("/v1/collections/{name}/documents")
GET_DOCUMENT = _get("/v1/collections/{name}/documents/{document_id}")
DELETE_DOCUMENT = Operation("DELETE", "/v1/collections/{name}/documents/{document_id}", is_safe=False)

CREATE_KEY = _post("/v1/admin/keys", is_safe=False)
LIST_KEYS = _get("/v1/admin/keys")
GET_KEY = _get("/v1/admin/keys/{id}")
UPDATE_KEY = Operation("PATCH", "/v1/admin/keys/{id}")
DELETE_KEY = Operation("DELETE", "/v1/admin/keys/{id}", is_safe=False)
ROTATE_KEY = _post("/v1/admin/keys/{id}/rotate", is_safe=False)
KEY_USAGE = _get("/v1/admin/keys/{id}/usage")
USAGE_SUMMARY = _get("/v1/admin/keys/usage/summary")

# A second one would do it again, and what a deletion meant may have ended by then.
LIST_JOBS = _get("/v1/jobs")
GET_JOB = _get("/v1/jobs/{id}")
CANCEL_JOB = Operation("DELETE", "/v1/jobs/{id}")
PAUSE_JOB = _post("/v1/jobs/{id}/pause")
RESUME_JOB = _post("/v1/jobs/{id}/resume")
SWITCH_JOB = _post("/v1/jobs/{id}/switch")
BACK_JOB = _post("/v1/jobs/{id}/back")
CREATE_BACKUP = _post("/v1/admin/backups", is_safe=False)
LIST_BACKUPS = _get("/v1/admin/backups")
GET_BACKUP = _get("/v1/admin/backups/{id}")
DELETE_BACKUP = Operation("DELETE", "/v1/admin/backups/{id}", is_safe=False)
VERIFY_BACKUP = _post("/v1/admin/backups/{id}/verify")
RESTORE = _post("/v1/admin/restore", is_safe=False)
LIST_RESTORES = _get("/v1/admin/restores")
GET_RESTORE = _get("/v1/admin/restores/{id}")
CANCEL_RESTORE = Operation("DELETE", "/v1/admin/restores/{id}", is_safe=False)

CLUSTER = _get("/v1/cluster")
DRAIN = _post("/v1/cluster/nodes/{id}/drain")
UNDRAIN = _post("/v1/cluster/nodes/{id}/undrain")
ADOPT = _post("/v1/cluster/shards/{collection}/{shard}/adopt", is_safe=False)

# Written from the OpenAPI document by `UPDATE=1 npm test -- test/unit/clients/python`.
EMBED = _post("/v1/collections/{name}/embed")
AGGREGATE = _post("/v1/collections/{name}/aggregate")
