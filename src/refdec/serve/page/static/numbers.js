// Numbers as people read them. A confidence is rounded down: just under a threshold must not look as if it reached it.

const BOUNDS = [1, 3, 8, 20]; // nats at which the colour of a fit changes

export const percent = (confidence) => `${Math.floor(100 * confidence + 1e-9)}\u00a0%`;

export function nats(value, digits = 1) {
  const rounded = Number(value.toFixed(digits));
  const sign = rounded < 0 ? "−" : "+";
  return sign + Math.abs(rounded).toFixed(digits);
}

/** -4 to 4: how far, and in which direction, a fit is from that of the yardstick. */
export function level(value) {
  const steps = BOUNDS.filter((bound) => Math.abs(value) >= bound).length;
  return value < 0 ? -steps : steps;
}

export const count = (number, name, names = `${name}s`) => `${number} ${number === 1 ? name : names}`;
