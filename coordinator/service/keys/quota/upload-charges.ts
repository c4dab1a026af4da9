import type { KeyQuotaAdmission, KeyWriter, Written } from './key-quota';

/** What an upload has stored in its key's quota, which gets it back if the upload fails and is taken back. */
export class UploadCharges {
  private readonly open = new Map<number, Written>();
  private readonly stored: Written = { items: 0, bytes: 0 };

  constructor(
    private readonly admission: KeyQuotaAdmission,
    private readonly given: Pick<KeyWriter, 'identity' | 'quota'>,
    private readonly startedMs: number,
  ) {}

  /** For the writes of the upload. */
  get writer(): KeyWriter {
    const { identity, quota } = this.given;
    return {
      identity,
      quota,
      admission: {
        take: async (writer, written) => {
          const charge = await this.admission.take(writer, written);
          this.open.set(charge, written);
          return charge;
        },
        settle: (charge, written) => {
          const whole = this.open.get(charge);
          this.open.delete(charge);
          this.admission.settle(charge, written);
          const { items, bytes } = written ?? whole ?? { items: 0, bytes: 0 };
          this.stored.items += items;
          this.stored.bytes += bytes;
        },
        noteRefusal: () => this.admission.noteRefusal(),
      },
    };
  }

  /** The chunks were deleted again. */
  giveBack(): void {
    if (this.stored.items > 0) this.admission.giveBack(this.given, this.stored, this.startedMs);
  }
}
