/** Which revision of a model on the hub is wanted, and what is known about its files. */
export interface ModelPin {
  /** A commit, tag or branch. */
  revision: string;
  /** Whether an operator asked for this revision. Then a copy of another revision is not used. */
  isExplicit: boolean;
  /** SHA-256 of files at that revision, by path; empty if nothing is known before the first download. */
  sha256: Readonly<Record<string, string>>;
}

/** The branch that every model of the hub has. Its owner can change its files at any time. */
const MOVING = 'main';

/**
 * The default model at the commit that this version was made with. The digests of its files are those published by many
 * projects that pin the same commit. A download that differs is refused.
 */
const KNOWN: Readonly<Record<string, Omit<ModelPin, 'isExplicit'>>> = {
  'Xenova/all-MiniLM-L6-v2': {
    revision: '751bff37182d3f1213fa05d7196b954e230abad9',
    sha256: {
      'config.json': '7135149f7cffa1a573466c6e4d8423ed73b62fd2332c575bf738a0d033f70df7',
      'tokenizer.json': 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0',
      'tokenizer_config.json': '9261e7d79b44c8195c1cada2b453e55b00aeb81e907a6664974b4d7776172ab3',
      'onnx/model_quantized.onnx': 'afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1',
    },
  },
};

/** The pin of a model: the requested revision ('': none), otherwise the known one, otherwise the moving branch. */
export function pinOf(name: string, askedRevision: string): ModelPin {
  const known = KNOWN[name];
  const revision = askedRevision || known?.revision || MOVING;
  return { revision, isExplicit: askedRevision !== '', sha256: known?.revision === revision ? known.sha256 : {} };
}
