"""Spark's expressions by class, and how it is known whether evaluating one can fail on some row. Written for Spark 4.3.

Spark's own `Expression.throwable` (4.x) is no help: it is true for a handful of classes only (raise_error, element_at, Sequence and
the like) and false for division, casts and UDFs. What takes memory without bound for one row (a text of gigabytes) does not count
as an error of that row, unless a row itself says how much (repeat, lpad).

tests/spark/test_expressions.py walks all classes of Spark's jars: each is here once. It evaluates those that never fail with
awkward values.
"""

from __future__ import annotations

from collections.abc import Mapping

# Whatever its arguments are, the operation itself has a value or null.
NEVER = "never"
# It fails only in ANSI mode, which the expression itself says.
ANSI = "in ANSI mode only"
# Its arguments behind the first decide, and while they are literals a row can't make it fail.
LITERAL = "unless its arguments are literals"
# Types, literals and mode decide: planner/plan/raising.py.
BY_RULE = "by a rule"
# It fails on some input, or nobody has looked closely.
MAY = "on some input"
# Analysis or the optimizer puts something else in its place, so no plan that runs has it.
NOT_RUN = "not in a plan that runs"

_NEVER = """
Acos Acosh AggregateExpression And ArrayContains ArrayDistinct ArrayExcept ArrayExists ArrayFilter ArrayForAll ArrayIntersect
ArrayJoin ArrayMax ArrayMin ArrayPosition ArrayRemove ArrayTransform ArrayUnion ArraysOverlap ArraysZip Ascii Asin Asinh
AtLeastNNonNulls Atan Atan2 Atanh Bin BitAndAgg BitLength BitOrAgg BitXorAgg BitwiseAnd BitwiseCount BitwiseNot BitwiseOr
BitwiseXor BloomFilterMightContain CaseWhen Cbrt Chr Coalesce CollationAwareMurmur3Hash CollationAwareXxHash64 CollectList
CollectSet Concat ConcatWs Contains Corr Cos Cosh Cot Count CovPopulation CovSample Crc32 CreateArray CreateNamedStruct Csc
CumeDist CurrentRow$ DateAdd DateDiff DateFromUnixDate DateSub DayName DayOfMonth DayOfWeek DayOfYear DenseRank
DynamicPruningExpression Empty2Null EndsWith EqualNullSafe EqualTo EulerNumber Exp Expm1 Factorial FindInSet First Flatten
GetArrayStructFields GetJsonObject GetMapValue GetStructField GreaterThan GreaterThanOrEqual Greatest Hex HiveHash Hour
HyperLogLogPlusPlus Hypot If In InSet InSubqueryExec InitCap InputFileName IsNaN IsNotNull IsNull JsonTuple
KnownFloatingPointNormalized KnownNotContainsNull KnownNotNull KnownNullable Kurtosis Lag LambdaFunction Last LastDay Lead Least
Length LessThan LessThanOrEqual Levenshtein Log Log10 Log1p Log2 Logarithm Lower MakeDecimal MapEntries MapFilter MapKeys
MapValues Max MaxBy Md5 MicrosToTimestamp Min MinBy Minute MonotonicallyIncreasingID Month MonthName Murmur3Hash NTile NaNvl
NamedLambdaVariable NormalizeNaNAndZero Not NthValue OctetLength Or Overlay PercentRank Pi Pow PreciseTimestampConversion
Quarter Rand Randn Rank Reverse Rint RowNumber RuntimeFilter ScalarSubquery Sec Second Sha1 Sha2 ShiftLeft ShiftRight
ShiftRightUnsigned Signum Sin Sinh Size Skewness SortArray SortOrder SoundEx SparkPartitionID SpecifiedWindowFrame Sqrt
StartsWith StddevPop StddevSamp StringInstr StringLocate StringReplace StringTranslate StringTrim StringTrimLeft StringTrimRight
Substring SubstringIndex Tan Tanh ToDegrees ToRadians TruncDate TypeOf UnboundedFollowing$ UnboundedPreceding$ UnixDate
UnixMicros UnixMillis UnixSeconds UnscaledValue Upper Uuid VariancePop VarianceSamp WeekDay WeekOfYear WindowExpression
WindowSpecDefinition XxHash64 Year YearOfWeek ZipWith StaticInvoke:CharVarcharCodegenUtils.readSidePadding
"""

_ANSI = "CheckOverflow Conv Elt GetArrayItem MakeDate NextDay"

_LITERAL = "Like LikeAll LikeAny NotLikeAll NotLikeAny RLike StringSplit"

_BY_RULE = """
Abs Add ArrayRepeat Average BRound Cast Ceil Divide Floor IntegralDivide Multiply Pmod RegExpExtract RegExpExtractAll
RegExpReplace Remainder Round StringLPad StringRPad StringRepeat StringSpace Subtract Sum UnaryMinus
"""

_MAY = """
AddMonths ApplyFunctionExpression ApproxCountDistinctForIntervals ApproxTopK ApproxTopKAccumulate ApproxTopKCombine
ApproxTopKEstimate ApproximatePercentile ArrayAggregate ArrayInsert ArraySort AssertNotNull BitmapAndAgg BitmapConstructAgg
BitmapOrAgg BitwiseGet BloomFilterAggregate Bucket CallMethodViaReflection CastTimestampNTZToLong CatalystToExternalMap
CheckInvariant CheckOverflowInSum CheckOverflowInTableInsert Collate CollationKey Collations CollectFrequentItems CollectTopK
CollectUnion ComplexTypedAggregateExpression ConvertTimezone CountMinSketchAgg CounterDiff CounterDiffWithStartTime
CreateExternalRow CreateMap CsvToStructs CursorReference DateAddInterval DateAddYMInterval DateFormatClass Days
DecimalAddNoOverflowCheck DecimalDivideWithOverflowCheck DecimalSubtractNoOverflowCheck DecodeUsingSerializer
DirectShufflePartitionID DistributedSequenceID DivideDTInterval DivideInterval DivideYMInterval DropField EWM ElementAt
EncodeUsingSerializer Explode ExpressionProxy ExternalMapToCatalyst ExternalUserDefinedFunction ExtractANSIIntervalDays
ExtractANSIIntervalHours ExtractANSIIntervalMinutes ExtractANSIIntervalMonths ExtractANSIIntervalSeconds
ExtractANSIIntervalYears ExtractIntervalDays ExtractIntervalHours ExtractIntervalMinutes ExtractIntervalMonths
ExtractIntervalSeconds ExtractIntervalYears FormatNumber FormatString FromUTCTimestamp FromUnixTime
FunctionTableSubqueryArgumentExpression GeneratorOuter GetExternalRowField GetTimestamp HistogramNumeric HllSketchAgg
HllSketchEstimate HllUnion HllUnionAgg Hours InitializeJavaBean Inline InputFileBlockLength InputFileBlockStart Invoke JsonTable
JsonToStructs KllMergeAggBigint KllMergeAggDouble KllMergeAggFloat KllSketchAggBigint KllSketchAggDouble KllSketchAggFloat
KllSketchGetNBigint KllSketchGetNDouble KllSketchGetNFloat KllSketchGetQuantileBigint KllSketchGetQuantileDouble
KllSketchGetQuantileFloat KllSketchGetRankBigint KllSketchGetRankDouble KllSketchGetRankFloat KllSketchMergeBigint
KllSketchMergeDouble KllSketchMergeFloat KllSketchToStringBigint KllSketchToStringDouble KllSketchToStringFloat LambdaVariable
ListAgg MakeDTInterval MakeInterval MakeTimestamp MakeYMInterval MapConcat MapFromArrays MapFromEntries MapObjects MapSort
MapZipWith Mask MaxMinByK Measure MillisToTimestamp Mode Months MonthsBetween MultiCommutativeOp MultiGetJsonObject
MultiplyDTInterval MultiplyInterval MultiplyYMInterval NanosToTimestamp NewInstance NullIndex PandasCovar PandasKurtosis
PandasMode PandasProduct PandasSkewness PandasStddev PandasVariance Percentile PercentileDisc PivotFirst PosExplode
PrintToStderr Product PythonUDAF PythonUDF PythonUDTF RaiseError RandStr RegExpInStr RegrIntercept RegrR2 RegrReplacement
RegrSXY RegrSlope ReplicateRows ResolvedCollation RoundCeil RoundFloor SQLKeywords ScalaAggregator ScalaUDAF ScalaUDF
ScalarCastHelper SchemaOfVariantAgg SecondWithFraction SecondWithFractionNanos SecondsToTimestamp SemiStructuredExtract Sequence
Shuffle SimpleTypedAggregateExpression Slice SortPrefix Stack StaticInvoke StringInstrWithOccurrence StringSplitSQL StringToMap
StructsToCsv StructsToXml SubtractDates SubtractTimestamps ThetaDifference ThetaIntersection ThetaIntersectionAgg ThetaSketchAgg
ThetaSketchEstimate ThetaUnion ThetaUnionAgg TimeBucket TimestampAdd TimestampAddInterval TimestampAddYMInterval TimestampDiff
ToCharacter ToNumber ToPrettyString ToUTCTimestamp ToUnixTimestamp ToVariantObject TransformExpression TransformKeys
TransformValues TranspiledPythonUDF TranspiledUDFParameter TruncTimestamp TryToNumber TupleDifferenceDouble
TupleDifferenceInteger TupleDifferenceThetaDouble TupleDifferenceThetaInteger TupleIntersectionAggDouble
TupleIntersectionAggInteger TupleIntersectionDouble TupleIntersectionInteger TupleIntersectionThetaDouble
TupleIntersectionThetaInteger TupleSketchAggDouble TupleSketchAggInteger TupleSketchEstimateDouble TupleSketchEstimateInteger
TupleSketchSummaryDouble TupleSketchSummaryInteger TupleSketchThetaDouble TupleSketchThetaInteger TupleUnionAggDouble
TupleUnionAggInteger TupleUnionDouble TupleUnionInteger TupleUnionThetaDouble TupleUnionThetaInteger UnBase64 Unhex UnixNanos
UnixTimestamp Unnest UnwrapOption UnwrapUDT UnwrapVariantCastError UpdateFields UserDefinedGenerator V2Aggregator
ValidateExternalType VariableReference VariantArrayAppend VariantDelete VariantExplode VariantGet VariantInsert VariantSet
VectorAvg VectorSum WidthBucket WithField WrapOption XmlToStructs Years
"""

_NOT_RUN = """
AesDecrypt AesEncrypt AlterColumnSpec AnyValue ArrayAppend ArrayBinarySearch ArrayCompact ArrayPrepend ArraySize AssertTrue
Assignment Base32 Base64 Between BinaryPad BinaryPredicate BitmapBitPosition BitmapBucketNumber BitmapCount BoolAnd BoolOr
CdcAssertCommitTimestampNotNull CheckConstraint CoalescedHashPartitioning CoalescedNullAwareHashPartitioning Collation
ColumnDefinition ColumnNodeExpression CommonExpressionDef CommonExpressionRef CountIf Cube CurrentBatchTimestamp CurrentCatalog
CurrentDatabase CurrentDate CurrentPath CurrentTime CurrentTimeZone CurrentTimestamp CurrentTimestampNanos CurrentUser
DatetimeSub Decode DefaultValueExpression DeleteAction Discard DynamicPruningSubquery Encode EqualNull Exists
ExpressionWithUnresolvedIdentifier Extract ForeignKeyConstraint FromAvro FromProtobuf GeneratedColumnExpression Get
GetColumnByOrdinal GetViewColumnByNameAndOrdinal Grouping GroupingID GroupingSets HashPartitioning Hmac HoursOfTime ILike
InSubquery InsertAction InsertReplaceOn InsertReplaceUsing InsertReplaceWhere InsertStarAction IsValidUTF8 IsValidVariant
IsVariantNull JaroWinkler JsonObjectKeys Keep KeyedPartitioning LateralColumnAliasReference LateralSubquery LazyExpression Left
LengthOfJsonArray ListQuery LocalTimestamp LocalTimestampNanos Luhncheck MakeTime MakeTimestampFromDateTime MakeTimestampLTZ
MakeTimestampLTZNanos MakeTimestampNTZ MakeTimestampNTZNanos MakeValidUTF8 MapContainsKey Median MinutesOfTime MultiAlias
NamedArgumentExpression NamedParameter Now NullAwareHashPartitioning NullIf NullIfResult NullIfZero Nvl Nvl2 OptionList
OuterReference OuterScopeReference ParseJson ParseToDate ParseToTimestamp ParseUrl PartitioningCollection PercentileCont
PipeExpression PosParameter PrettyAttribute PrettyPythonUDF PrimaryKeyConstraint QualifiedColType Quote RangePartitioning
RegExpCount RegExpSubStr RegrAvgX RegrAvgY RegrCount RegrSXX RegrSYY ResolvedFieldName ResolvedFieldPosition
ResolvedPartitionSpec ResolvedStar Right Rollup SQLFunctionExpression SQLScalarFunction ST_AsBinary ST_GeogFromWKB
ST_GeomFromWKB ST_SetSrid ST_Srid ScalarSubqueryReference SchemaOfAvro SchemaOfCsv SchemaOfJson SchemaOfVariant SchemaOfXml
SecondsOfTime SecondsOfTimeWithFraction Sentences SessionWindow ShufflePartitionIdPassThrough SparkVersion Split SplitPart
StringDecode StringTrimBoth StructsToJson SubtractTimes TempResolvedColumn TimeAddInterval TimeDiff TimeFromMicros
TimeFromMillis TimeFromSeconds TimeToMicros TimeToMillis TimeToSeconds TimeTrunc TimeWindow ToAvro ToBinary ToJavaArray
ToProtobuf ToTime TryAdd TryAesDecrypt TryDivide TryElementAt TryEval TryMakeInterval TryMakeTimestamp
TryMakeTimestampFromDateTime TryMod TryMultiply TryParseUrl TryReflect TrySubtract TryToBinary TryUrlDecode TryValidateUTF8
UnBase32 UnaryPositive Uniform UniqueConstraint UnresolvedAlias UnresolvedAttribute UnresolvedCatalystToExternalMap
UnresolvedCollation UnresolvedCursor UnresolvedDataFrameStar UnresolvedDeserializer UnresolvedExistsPlanId
UnresolvedExtractValue UnresolvedFieldName UnresolvedFieldPosition UnresolvedFunction UnresolvedGenerator
UnresolvedInSubqueryPlanId UnresolvedMapObjects UnresolvedNamedLambdaVariable UnresolvedOrdinal UnresolvedPartitionSpec
UnresolvedPipeAggregateOrdinal UnresolvedPolymorphicPythonUDTF UnresolvedRegex UnresolvedScalarSubqueryPlanId UnresolvedStar
UnresolvedStarExceptOrReplace UnresolvedStarWithColumns UnresolvedStarWithColumnsRenames UnresolvedTableArgPlanId
UnresolvedTableSpec UnresolvedWindowExpression UpCast UpdateAction UpdateStarAction UrlDecode UrlEncode ValidateUTF8
VariantStripNulls VectorCosineSimilarity VectorInnerProduct VectorL2Distance VectorNorm VectorNormalize WindowTime With
XPathBoolean XPathDouble XPathFloat XPathInt XPathList XPathLong XPathShort XPathString ZeroIfNull
"""


def _table() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for how, names in ((NEVER, _NEVER), (ANSI, _ANSI), (LITERAL, _LITERAL), (BY_RULE, _BY_RULE), (MAY, _MAY), (NOT_RUN, _NOT_RUN)):
        found.update(dict.fromkeys(names.split(), how))
    return found


# By the simple name of its class; of calls of Java methods by `StaticInvoke:CLASS.METHOD` and `Invoke:TYPE.METHOD`.
KNOWN: Mapping[str, str] = _table()
