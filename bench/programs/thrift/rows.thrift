// The part of HBase's Thrift2 interface that the benchmark uses. Names, numbers and types are those of hbase.thrift in
// HBase 2.6.1 (module hbase-thrift, package thrift2).

struct TColumnValue {
  1: required binary family,
  2: required binary qualifier,
  3: required binary value
}

struct TResult {
  1: optional binary row,
  2: required list<TColumnValue> columnValues
}

struct TGet {
  1: required binary row
}

struct TPut {
  1: required binary row,
  2: required list<TColumnValue> columnValues
}

struct TScan {
  1: optional binary startRow,
  4: optional i32 caching,
  15: optional i32 limit
}

exception TIOError {
  1: optional string message
}

exception TIllegalArgument {
  1: optional string message
}

service THBaseService {
  TResult get(1: binary table, 2: TGet tget) throws (1: TIOError io)

  list<TResult> getMultiple(1: binary table, 2: list<TGet> tgets) throws (1: TIOError io)

  void put(1: binary table, 2: TPut tput) throws (1: TIOError io)

  void putMultiple(1: binary table, 2: list<TPut> tputs) throws (1: TIOError io)

  list<TResult> getScannerResults(1: binary table, 2: TScan tscan, 3: i32 numRows)
    throws (1: TIOError io, 2: TIllegalArgument ia)
}
