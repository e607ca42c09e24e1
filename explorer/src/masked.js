// Masked fields: the gateway says so in the description that a token's own introspection shows.
import { isObjectType } from 'graphql';

const SENTENCE = /Hidden from this token by the mask word (.+)\.\s*$/;

export function maskWords(description) {
  const match = SENTENCE.exec(description ?? '');
  return match ? match[1].replaceAll('`', '').replaceAll(' and ', ', ') : '';
}

// Mask word -> the fields that it hides, like "Email.body".
export function maskedFields(schema) {
  const fields = new Map();
  for (const type of Object.values(schema?.getTypeMap() ?? {})) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      for (const word of maskWords(field.description).split(', ').filter(Boolean)) {
        fields.set(word, [...(fields.get(word) ?? []), `${type.name}.${field.name}`]);
      }
    }
  }
  return fields;
}

// The documentation renders a description below its field, so the text is there to be read.
function mark(root) {
  for (const item of root.querySelectorAll('.graphiql-doc-explorer-item')) {
    const words = maskWords(item.querySelector('.graphiql-markdown-description')?.textContent.trim());
    if (words && item.dataset.maskedBy !== words) item.dataset.maskedBy = words;
    if (!words && item.dataset.maskedBy) delete item.dataset.maskedBy;
  }
}

export function markMaskedFields(root) {
  const observer = new MutationObserver(() => mark(root));
  observer.observe(root, { childList: true, subtree: true, characterData: true });
  mark(root);
  return () => observer.disconnect();
}
