import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['**/node_modules/', '**/dist/', '**/bundled/', '.venv/', '.cache/', '**/build/', 'tests/accuracy/', 'tests/npu/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  {
    files: ['tests/extension/unit/*.ts'],
    rules: { '@typescript-eslint/no-floating-promises': 'off' }, // node:test's test() returns a promise nobody awaits
  },
  {
    files: ['tests/extension/fixtures/**/*.js'],
    languageOptions: { sourceType: 'commonjs', globals: { exports: 'writable', require: 'readonly' } },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: {
        Buffer: 'readonly', URL: 'readonly', URLSearchParams: 'readonly', clearTimeout: 'readonly',
        console: 'readonly', globalThis: 'readonly', process: 'readonly', setTimeout: 'readonly',
      },
    },
  },
);
