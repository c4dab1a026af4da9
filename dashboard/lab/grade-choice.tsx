import { useId } from 'preact/hooks';
import { GRADES } from './judged';

const OFFERED = Object.keys(GRADES).map(Number);
const NONE = '–';

interface GradeChoiceProps {
  /** The external_id of what is graded. */
  id: string;
  /** null: it is not judged. */
  grade: number | null;
  isReadOnly: boolean;
  onGrade: (grade: number | null) => void;
  /** Leads to the next query. */
  onNext: () => void;
}

/** How good an item is as the answer. The keys 0 to 3 give a grade and go on to the next item. */
export function GradeChoice({ id, grade, isReadOnly, onGrade, onNext }: GradeChoiceProps) {
  const name = useId();
  // A file may have others.
  const offered = grade === null || OFFERED.includes(grade) ? OFFERED : [...OFFERED, grade];
  const byKey = (event: KeyboardEvent): void => {
    if (isReadOnly || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === 'n') onNext();
    const given = event.key === '-' ? null : OFFERED.find((one) => String(one) === event.key);
    if (given === undefined) return;
    event.preventDefault();
    onGrade(given);
    focusNext(event.currentTarget as HTMLElement);
  };
  const choice = (value: number | null, text: string, said: string) => (
    <label key={text}>
      <input
        type="radio"
        name={name}
        class="visually-hidden"
        checked={grade === value}
        disabled={isReadOnly}
        aria-label={said}
        onChange={() => onGrade(value)}
      />
      <span class="number" aria-hidden="true" title={said}>
        {text}
      </span>
    </label>
  );
  return (
    <fieldset class="grades" onKeyDown={byKey}>
      <legend class="visually-hidden">Grade of {id}</legend>
      {choice(null, NONE, 'not judged')}
      {offered.map((value) => choice(value, String(value), gradeText(value)))}
    </fieldset>
  );
}

function gradeText(grade: number): string {
  const said = GRADES[grade];
  return said === undefined ? String(grade) : `${grade}, ${said}`;
}

/** The chosen grade of the next item. */
function focusNext(from: HTMLElement): void {
  const all = [...document.querySelectorAll<HTMLElement>('fieldset.grades')];
  const next = all[all.indexOf(from) + 1];
  next?.querySelector<HTMLInputElement>('input:checked')?.focus();
}
