import { type FieldValue, protobufMessage } from './protobuf-writer';

/** Numbers of the messages and types of onnx.proto3 (github.com/onnx/onnx) that a model of ours needs. */
const IR_VERSION = 8;
const OPSET = 20;
const TENSOR_TYPES = { float: 1, int8: 3, int64: 7, uint8: 2 } as const;
const ATTRIBUTE_TYPES = { float: 1, int: 2, ints: 7 } as const;

export type TensorType = keyof typeof TENSOR_TYPES;
export type Attributes = Record<string, number | number[] | { float: number }>;

/** Writes an ONNX model node by node; every call answers the name of the value it makes. */
export class OnnxGraph {
  private readonly nodes: Uint8Array[] = [];
  private readonly initializers: Uint8Array[] = [];
  private readonly inputs: Uint8Array[] = [];
  private readonly outputs: Uint8Array[] = [];
  private made = 0;

  input(name: string, type: TensorType, dims: (number | string)[]): string {
    this.inputs.push(valueInfo(name, type, dims));
    return name;
  }

  output(name: string, value: string, type: TensorType, dims: (number | string)[]): void {
    this.node('Identity', [value], {}, [name]);
    this.outputs.push(valueInfo(name, type, dims));
  }

  /** A constant: row-major data of the given shape; `[]` is a scalar. */
  constant(type: TensorType, dims: number[], data: Float32Array | Int8Array | Uint8Array | BigInt64Array): string {
    const name = this.newName('constant');
    const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.initializers.push(
      protobufMessage([
        [1, dims],
        [2, TENSOR_TYPES[type]],
        [8, name],
        [9, raw],
      ]),
    );
    return name;
  }

  floats(dims: number[], data: ArrayLike<number>): string {
    return this.constant('float', dims, Float32Array.from(data));
  }

  integers(dims: number[], data: number[]): string {
    return this.constant('int64', dims, BigInt64Array.from(data.map(BigInt)));
  }

  /** A node with one output. */
  apply(operator: string, inputs: string[], attributes: Attributes = {}): string {
    const [output] = this.node(operator, inputs, attributes, [this.newName(operator)]);
    return output;
  }

  /** A node with as many outputs as named. */
  node(operator: string, inputs: string[], attributes: Attributes, outputs: string[]): string[] {
    const written = Object.entries(attributes).map(([name, value]) => attribute(name, value));
    this.nodes.push(
      protobufMessage([
        [1, inputs],
        [2, outputs],
        [3, `${operator}_${this.nodes.length}`],
        [4, operator],
        [5, written],
      ]),
    );
    return outputs;
  }

  newName(of: string): string {
    this.made += 1;
    return `${of}_${this.made}`;
  }

  /** The whole model file. */
  model(): Uint8Array {
    const graph = protobufMessage([
      [1, this.nodes],
      [2, 'graph'],
      [5, this.initializers],
      [11, this.inputs],
      [12, this.outputs],
    ]);
    const opset = protobufMessage([
      [1, ''],
      [2, OPSET],
    ]);
    return protobufMessage([
      [1, IR_VERSION],
      [2, 'quiver-test'],
      [7, graph],
      [8, opset],
    ]);
  }
}

function attribute(name: string, value: Attributes[string]): Uint8Array {
  const fields: [number, FieldValue][] = Array.isArray(value)
    ? [
        [8, value],
        [20, ATTRIBUTE_TYPES.ints],
      ]
    : typeof value === 'number'
      ? [
          [3, value],
          [20, ATTRIBUTE_TYPES.int],
        ]
      : [
          [2, value],
          [20, ATTRIBUTE_TYPES.float],
        ];
  return protobufMessage([[1, name], ...fields]);
}

/** A dimension that is a text is free. */
function valueInfo(name: string, type: TensorType, dims: (number | string)[]): Uint8Array {
  const shape = protobufMessage([
    [1, dims.map((dim) => protobufMessage([typeof dim === 'number' ? [1, dim] : [2, dim]]))],
  ]);
  const tensor = protobufMessage([
    [1, TENSOR_TYPES[type]],
    [2, shape],
  ]);
  return protobufMessage([
    [1, name],
    [2, protobufMessage([[1, tensor]])],
  ]);
}
