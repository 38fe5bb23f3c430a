// Tables as files.

const cell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  // A spreadsheet runs what begins like a formula: ids and titles are text, whatever they begin with.
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csv = (columns, rows) => [columns, ...rows.map((row) => columns.map((one) => row[one]))].map((line) => line.map(cell).join(",")).join("\r\n");

export function save(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
