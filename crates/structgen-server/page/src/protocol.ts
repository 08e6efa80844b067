// The parts of the server's protocol that the page reads. Members that an answer may lack are optional.

export interface ModelEntry {
  id: string;
}

/** A token that could have been written. */
export interface Candidate {
  id: number;
  text: string;
  probability: number;
}

/** One generated token and what the mask did at its step. */
export interface TokenStep {
  id: number;
  text: string;
  bytes?: number[];
  forced: boolean;
  logprob?: number | null;
  /** The share of the model's probability that the mask took away. */
  removed_mass?: number | null;
  /** The number of tokens that the mask allowed. */
  allowed?: number | null;
  /** Tokens that the model preferred and the mask refused, with the probability before the mask. */
  wanted?: Candidate[];
  /** The most probable allowed tokens, with the probability after the mask. */
  alternatives?: Candidate[];
}

export interface ChatChunk {
  choices?: {
    delta?: { content?: string | null; reasoning?: string | null; refusal?: string | null };
    finish_reason?: string | null;
    structgen?: { tokens?: TokenStep[]; report?: Report };
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  error?: ServerError;
}

export interface ServerError {
  message: string;
  type?: string;
  param?: string | null;
  code?: string | number | null;
}

/** Begin and end, in characters of the text. */
export type Span = [number, number];

export interface Field {
  pointer: string;
  value: unknown;
  confidence?: number;
  probability?: number;
  /** Where the text has the value. */
  characters?: Span[];
  grounded?: boolean;
  alternatives?: { value: unknown; probability: number }[];
}

export interface Report {
  fields?: Field[];
}

export interface Extraction {
  /** The value as it was written: numbers here have fewer digits than JSON's may have. */
  json: string;
  fields?: Field[];
  /** Schema nodes whose required values the text lacks. */
  ungrounded?: string[];
  report?: Report;
}
