// The functions of DOMPurify by name, as the editor imports them from its own copy.
import DOMPurify from 'dompurify';

export const { addHook, isSupported, removeAllHooks, removeHook, sanitize } = DOMPurify;
