// Original file: proto/quiver/v1/replication.proto

import type { SnapshotHeader as _quiver_v1_SnapshotHeader, SnapshotHeader__Output as _quiver_v1_SnapshotHeader__Output } from '../../quiver/v1/SnapshotHeader';
import type { ChunkPiece as _quiver_v1_ChunkPiece, ChunkPiece__Output as _quiver_v1_ChunkPiece__Output } from '../../quiver/v1/ChunkPiece';

export interface SnapshotPart {
  'header'?: (_quiver_v1_SnapshotHeader | null);
  'piece'?: (_quiver_v1_ChunkPiece | null);
  'part'?: "header"|"piece";
}

export interface SnapshotPart__Output {
  'header'?: (_quiver_v1_SnapshotHeader__Output | null);
  'piece'?: (_quiver_v1_ChunkPiece__Output | null);
  'part'?: "header"|"piece";
}
