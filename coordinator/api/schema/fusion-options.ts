import { z } from 'zod';
import { FUSION_KINDS, type Fusing } from '../../service/search-request';
import { integer, optional } from '../fields/fields';
import { type IssueSink, report } from '../fields/issue';

const RANK_CONSTANT = 60;
const RANK_CONSTANT_MAX = 10_000;

const kind = z.enum(FUSION_KINDS);

/** Fields of searches that make one list of several. */
export const fusionShape = {
  fusion: optional(
    z.union([kind, z.object({ kind, constant: optional(integer(1, RANK_CONSTANT_MAX)) })], {
      error: `must be one of ${FUSION_KINDS.map((name) => JSON.stringify(name)).join(', ')}, or {"kind": one of these, "constant": 1 to ${RANK_CONSTANT_MAX}}`,
    }),
  ).meta({
    description: `What each list adds for a hit, times its weight: "rrf" (default), 1 / (constant + rank), with {"kind": "rrf", "constant": 20} another constant than ${RANK_CONSTANT}; "relative", where its score is between the list’s least and greatest, 0 to 1; "dbsf", where it is between three standard deviations below and above the mean; "linear", the score itself. Of the merged lists, as deep as they are read.`,
  }),
  score_scale: optional(z.enum(['unit'])).meta({
    description: 'With "unit", scores are divided by the best that there can be, which is 1 then. Not with "linear".',
  }),
};

interface GivenFusion {
  fusion?: Fusing['kind'] | { kind: Fusing['kind']; constant?: number | undefined } | undefined;
  score_scale?: 'unit' | undefined;
}

/** Whether a request says how lists become one. */
export function givesFusion({ fusion, score_scale: scale }: GivenFusion): boolean {
  return fusion !== undefined || scale !== undefined;
}

/** undefined: as by default. Reports what does not go together. */
export function fusingOf(given: GivenFusion, sink: IssueSink): Fusing | undefined {
  const { kind: chosen = 'rrf', constant } =
    typeof given.fusion === 'object' ? given.fusion : { kind: given.fusion, constant: undefined };
  const isUnit = given.score_scale === 'unit';
  if (constant !== undefined && chosen !== 'rrf')
    report(sink, given, 'is for "rrf" alone', { kind: 'invalid_parameter', path: ['fusion', 'constant'] });
  if (isUnit && chosen === 'linear')
    report(sink, given, 'needs scores that have a best, and those of "linear" have none: "relative" has', {
      kind: 'invalid_parameter',
      path: ['score_scale'],
    });
  const isDefault = chosen === 'rrf' && (constant ?? RANK_CONSTANT) === RANK_CONSTANT && !isUnit;
  return isDefault ? undefined : { kind: chosen, constant: constant ?? RANK_CONSTANT, isUnit };
}
