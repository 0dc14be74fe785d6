/** A line of arguments in words, as a shell without variables would split it. */
export function splitArguments(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let index = 0; index < line.length; index++) {
    const character = line[index] ?? '';
    if (quote !== '' && character === quote) {
      quote = '';
    } else if (character === '\\' && quote !== "'" && index + 1 < line.length) {
      index += 1;
      word = (word ?? '') + (line[index] ?? '');
    } else if (quote === '' && (character === '"' || character === "'")) {
      quote = character;
      word ??= '';
    } else if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}
