"""Client of Quiver, a vector collection service: ``QuiverClient``, and ``AsyncQuiverClient`` for asyncio and trio.

>>> with QuiverClient("http://localhost:8000", api_key="...") as quiver:
...     quiver.create_collection("books", dim=384)
...     books = quiver.collection("books")
...     books.upsert("moby-dick", text="A captain hunts a white whale.", metadata={"year": 1851})
...     answer = books.search(text="revenge at sea", k=3)
"""

from ._async.backups import AsyncBackups
from ._async.client import AsyncQuiverClient
from ._async.cluster import AsyncCluster
from ._async.collection import AsyncCollection
from ._async.jobs import AsyncJobs
from ._async.keys import AsyncKeys
from ._async.local import AsyncLocalQuiverClient, local_async
from ._sync.backups import Backups
from ._sync.client import QuiverClient
from ._sync.cluster import Cluster
from ._sync.collection import Collection
from ._sync.jobs import Jobs
from ._sync.keys import Keys
from ._sync.local import LocalQuiverClient, local
from ._version import __version__
from .batching import BulkProgress, BulkWriteResult
from .errors import (
    ApiError,
    BadAnswerError,
    BadRequestError,
    BulkWriteError,
    ConflictError,
    ForbiddenError,
    InvalidValueError,
    LocalServiceError,
    NotFoundError,
    QuiverConnectionError,
    QuiverError,
    QuiverTimeoutError,
    QuiverWarning,
    RateLimitError,
    ServerError,
    UnauthorizedError,
    ValidationError,
    VersionConflict,
    VersionConflictError,
)
from .event_stream import AnswerEvent
from .ids import ExternalId
from .models import (
    Answer,
    BulkSearchQuery,
    CollectionEmbedding,
    CollectionInfo,
    Filters,
    Hit,
    HitContext,
    HybridHit,
    Item,
    ItemLike,
    Job,
    JobPage,
    JobState,
    KeyQuota,
    KeyScope,
    KeywordField,
    Metadata,
    StorageQuota,
    StoredDocument,
    StoredVector,
)
from .notices import WarningMode
from .retries import NO_RETRIES, RetryPolicy
from .tables import Rows
from .uploads import UploadProgress
from .vectors import VectorFormat, VectorLike, decode_array, decode_vector, encode_vector

__all__ = [
    "NO_RETRIES",
    "Answer",
    "AnswerEvent",
    "ApiError",
    "AsyncBackups",
    "AsyncCluster",
    "AsyncCollection",
    "AsyncJobs",
    "AsyncKeys",
    "AsyncLocalQuiverClient",
    "AsyncQuiverClient",
    "Backups",
    "BadAnswerError",
    "BadRequestError",
    "BulkProgress",
    "BulkSearchQuery",
    "BulkWriteError",
    "BulkWriteResult",
    "Cluster",
    "Collection",
    "CollectionEmbedding",
    "CollectionInfo",
    "ConflictError",
    "ExternalId",
    "Filters",
    "ForbiddenError",
    "Hit",
    "HitContext",
    "HybridHit",
    "InvalidValueError",
    "Item",
    "ItemLike",
    "Job",
    "JobPage",
    "JobState",
    "Jobs",
    "KeyQuota",
    "KeyScope",
    "Keys",
    "KeywordField",
    "LocalQuiverClient",
    "LocalServiceError",
    "Metadata",
    "NotFoundError",
    "QuiverClient",
    "QuiverConnectionError",
    "QuiverError",
    "QuiverTimeoutError",
    "QuiverWarning",
    "RateLimitError",
    "RetryPolicy",
    "Rows",
    "ServerError",
    "StorageQuota",
    "StoredDocument",
    "StoredVector",
    "UnauthorizedError",
    "UploadProgress",
    "ValidationError",
    "VectorFormat",
    "VectorLike",
    "VersionConflict",
    "VersionConflictError",
    "WarningMode",
    "__version__",
    "decode_array",
    "decode_vector",
    "encode_vector",
    "local",
    "local_async",
]
