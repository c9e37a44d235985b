// Writes a table by one of the npm packages that can: node node_writers.mjs WRITER TABLE.json FOLDER PACK_ROWS
// TABLE.json: [{name, type, precision, scale, values: [text or null]}]; runs in the folder that has node_modules.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [writer, source, folder, packRows] = process.argv.slice(2)
const rows = Number(packRows)
const require = createRequire(join(process.cwd(), 'index.js'))
const columns = writer === 'parquet-wasm' ? [] : JSON.parse(readFileSync(source, 'utf8'))

const without = (column, reason) => console.log(`without ${column.name}: ${reason}`)
const mapped = (column, read) => column.values.map(value => value === null ? null : read(value))
const number = text => text === 'nan' ? NaN : text === 'inf' ? Infinity : text === '-inf' ? -Infinity : Number(text)

// Two's complement in as many bytes as the precision needs.
function decimalBytes (unscaled, length) {
  const bytes = Buffer.alloc(length)
  for (let i = length - 1, rest = BigInt(unscaled); i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 0xffn)
  return bytes
}

async function withHyparquet () {
  const { parquetWriteFile } = await import(require.resolve('hyparquet-writer'))
  const kinds = {
    int32: [{ type: 'INT32' }, Number],
    int64: [{ type: 'INT64' }, BigInt],
    float: [{ type: 'FLOAT' }, number],
    double: [{ type: 'DOUBLE' }, number],
    bool: [{ type: 'BOOLEAN' }, text => text === 'true'],
    string: [{ type: 'BYTE_ARRAY', converted_type: 'UTF8' }, String],
    binary: [{ type: 'BYTE_ARRAY' }, text => new Uint8Array(Buffer.from(text, 'hex'))],
    date: [{ type: 'INT32', converted_type: 'DATE' }, Number],
    timestamp: [{ type: 'INT64', converted_type: 'TIMESTAMP_MICROS' }, BigInt]
  }
  const schema = [{ name: 'root', num_children: columns.length }]
  const columnData = []
  for (const column of columns) {
    const length = Math.ceil((column.precision * Math.log2(10) + 1) / 8)
    const [element, read] = column.type === 'decimal'
      ? [{ type: 'FIXED_LEN_BYTE_ARRAY', type_length: length, converted_type: 'DECIMAL', precision: column.precision, scale: column.scale }, BigInt]
      : kinds[column.type]
    schema.push({ name: column.name, repetition_type: 'OPTIONAL', ...element })
    columnData.push({ name: column.name, data: mapped(column, read) })
  }
  parquetWriteFile({ filename: join(folder, 't.parquet'), columnData, schema, rowGroupSize: rows })
}

async function withParquetJs (name) {
  const parquet = require(name)
  const kinds = {
    int32: ['INT32', Number],
    int64: ['INT64', text => Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)],
    float: ['FLOAT', number],
    double: ['DOUBLE', number],
    bool: ['BOOLEAN', text => text === 'true'],
    string: ['UTF8', String],
    binary: ['BYTE_ARRAY', text => Buffer.from(text, 'hex')],
    date: ['DATE', text => new Date(Number(text) * 86400000)],
    timestamp: ['TIMESTAMP_MICROS', text => Number(text)]
  }
  const fields = {}
  const values = {}
  for (const column of columns) {
    const kind = kinds[column.type]
    const big = column.type === 'int64' && column.values.some(text => text !== null && !Number.isSafeInteger(Number(text)))
    const odd = ['float', 'double'].includes(column.type) && name === 'parquetjs' && column.values.some(text => text !== null && !Number.isFinite(number(text)))
    const early = ['date', 'timestamp'].includes(column.type) && column.values.some(text => text !== null && Number(text) < 0)
    if (!kind || early || odd || (big && name === 'parquetjs')) {
      without(column, kind ? 'it refuses such values' : `it has no ${column.type}`)
      continue
    }
    fields[column.name] = { type: kind[0], optional: true }
    values[column.name] = mapped(column, kind[1])
  }
  const file = await parquet.ParquetWriter.openFile(new parquet.ParquetSchema(fields), join(folder, 't.parquet'))
  file.setRowGroupSize(rows)
  for (let i = 0; i < columns[0].values.length; i++) {
    const row = {}
    for (const column of Object.keys(fields)) if (values[column][i] !== null) row[column] = values[column][i]
    await file.appendRow(row)
  }
  await file.close()
}

async function withParquetWasm () {
  const wasm = require('parquet-wasm/node')
  const table = wasm.Table.fromIPCStream(new Uint8Array(readFileSync(source.replace(/json$/, 'stream'))))
  const properties = new wasm.WriterPropertiesBuilder().setMaxRowGroupSize(rows).build()
  writeFileSync(join(folder, 't.parquet'), wasm.writeParquet(table, properties))
}

const byName = {
  hyparquet: withHyparquet,
  parquetjs: () => withParquetJs('parquetjs'),
  'dsnp-parquetjs': () => withParquetJs('@dsnp/parquetjs'),
  'parquet-wasm': withParquetWasm
}
await byName[writer]()
