// The state of the page in its address, after the #, which browsers never send to a server.

export const readLink = () => new URLSearchParams(location.hash.slice(1));

export function writeLink(pairs) {
  const words = new URLSearchParams(pairs).toString();
  history.replaceState(null, "", words ? `#${words}` : location.pathname + location.search);
}
