import type { AuditEvent } from '../../service/audit/audit-log';
import type { AnsweredRequest } from '../http/observer';

/** Which requests get a line in the audit log, as settings have it. */
export interface AuditRule {
  /** Empty: there is no audit log. */
  auditLog: string;
  auditReads: 'false' | 'true';
}

/** What somebody without the right to it asked for. */
const REFUSALS = [401, 403];

/**
 * Whether a request gets a line in the audit log: it changes something, is administrative, was refused, or reads are
 * wanted, too.
 */
export function isAudited(
  rule: AuditRule,
  { access, code, isAdministrative, keyId, subject }: AnsweredRequest,
): boolean {
  if (rule.auditLog === '') return false;
  return (
    isAdministrative ||
    access === 'readwrite' ||
    access === 'admin' ||
    REFUSALS.includes(code) ||
    (rule.auditReads === 'true' && (keyId !== null || subject !== undefined))
  );
}

/** Its line. `wallMs`: when it was answered. */
export function auditEvent(facts: AnsweredRequest, wallMs: number): AuditEvent {
  const { requestId, method, endpoint, code, durationMs, keyId, keyName, subject, address, collection, target } = facts;
  return {
    time: new Date(wallMs).toISOString(),
    event: 'request',
    request_id: requestId,
    key_id: keyId,
    key_name: keyName,
    ...(subject === undefined ? {} : { subject }),
    address,
    method,
    endpoint,
    collection,
    target,
    outcome: code === 200 ? 'done' : code >= 500 ? 'failed' : 'refused',
    code,
    ms: Math.round(durationMs * 100) / 100,
  };
}
