/**
 * The number formats of models, each in a file of its own, by the names that @huggingface/transformers uses, in the
 * order in which `auto` tries them: int8 is the fastest on a CPU.
 */
export const VARIANT_FILES = {
  q8: 'model_quantized',
  fp32: 'model',
  int8: 'model_int8',
  uint8: 'model_uint8',
  fp16: 'model_fp16',
  q4: 'model_q4',
  bnb4: 'model_bnb4',
  q4f16: 'model_q4f16',
} as const;

export type ModelVariant = keyof typeof VARIANT_FILES;

/** The variants to look for, best first. */
export function wantedVariants(dtype: string): ModelVariant[] {
  return dtype === 'auto' ? (Object.keys(VARIANT_FILES) as ModelVariant[]) : [dtype as ModelVariant];
}

/** Path of a variant's graph inside the model's folder. */
export function variantPath(variant: ModelVariant): string {
  return `onnx/${VARIANT_FILES[variant]}.onnx`;
}

/**
 * Whether activations are quantized at run time with one scale for a whole tensor, as onnxruntime's dynamic
 * quantization does. Then a text's vector depends on the other texts in its batch (cosine 0.98 for all-MiniLM-L6-v2).
 */
export function quantizesActivations(variant: ModelVariant): boolean {
  return variant === 'q8' || variant === 'int8' || variant === 'uint8';
}
