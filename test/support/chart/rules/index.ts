import { ETCD_RULES } from './etcd-rules';
import { POD_RULES } from './pod-rules';
import { PROGRAM_RULES } from './program-rules';
import { REFERENCE_RULES } from './reference-rules';
import type { Rule } from './rule';

/** Everything that must hold of a release, beyond what the schemas see. */
export const RULES: Rule[] = [...POD_RULES, ...REFERENCE_RULES, ...PROGRAM_RULES, ...ETCD_RULES];
