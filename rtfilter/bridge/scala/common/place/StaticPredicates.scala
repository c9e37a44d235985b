package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import java.io.File
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{SparkVersion => _, _}
import org.apache.spark.sql.catalyst.util.{toPrettySQL, DateTimeUtils}
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import scala.util.Try

/** What a query itself asks of a scan's columns (docs/protocol.md, "Static predicates"), for tables that may have an index. */
object StaticPredicates extends PredicateHelper {
  private val MostValues = 10000
  private val MostWritten = 1000
  private val MostRoots = 16
  private val StoreFolder = "_rtfilter"
  private val LookAgainMs = 60000L

  /** By place: whether it has a store, or had one; None while nobody knows. And when that was looked up on another filesystem. */
  private val stores = BoundedMap[Path, (Option[Boolean], Long)](10000)

  def concerns(layer: LayerSession, plan: SparkPlan): Boolean = plan.exists { case scan: FileSourceScanExec => concerns(layer, scan); case _ => false }

  /** Cheap enough for every scan of every query: a look at a local directory at most. */
  private def concerns(layer: LayerSession, scan: FileSourceScanExec): Boolean = !scan.isInstanceOf[NarrowedScan] && conditions(scan).nonEmpty &&
      (layer.storeLocation.nonEmpty || places(scan).map(hasStore(layer, _, scan)).contains(true)) && SparkVersion.readsPlainParquet(scan)

  /** Adds conditions to the snapshot's scans that an index may have something to say of. */
  def addTo(layer: LayerSession, node: NumberedNode, nodes: Seq[ObjectNode], above: Option[SparkPlan] = None): Unit = node.plan match {
    case scan: FileSourceScanExec if concerns(layer, scan) =>
      val metadata = AttributeSet(scan.fileConstantMetadataColumns)
      val columns = AttributeSet(scan.output.filterNot(c => metadata.contains(c) || scan.relation.partitionSchema.fieldNames.contains(c.name)))
      Json.put(nodes(node.id), "static", inOrder(scan, above).map(c =>
        SnapshotExpression.flagged(c, Json.obj("text" -> toPrettySQL(c).take(200), "test" -> test(c, columns)))))
      if (isElsewhere(layer, scan)) fetchAhead(layer, scan)
    case _: QueryStageExec =>
    // Who asks for a row's part of its file gets other ones of a file that is shown shorter or longer.
    case plan if plan.expressions.exists(_.exists { case _: InputFileBlockStart | _: InputFileBlockLength => true; case _ => false }) =>
    case plan => node.children.foreach(addTo(layer, _, nodes, Some(plan)))
  }

  /** All conditions on the rows of a scan, as they are evaluated one after the other. Checked on 4.3: the scan's own are all in the filter above it. */
  private def inOrder(scan: FileSourceScanExec, above: Option[SparkPlan]): Seq[Expression] =
    above.collect { case filter: FilterExec => splitConjunctivePredicates(filter.condition) }.getOrElse(conditions(scan))

  private def conditions(scan: FileSourceScanExec): Seq[Expression] = scan.dataFilters.filterNot(_.isInstanceOf[RuntimeFilter])

  /** Where indexes of the table may be: in its roots, without partition directories; a root may be a single file. */
  private def places(scan: FileSourceScanExec): Seq[Path] = places(scan.relation.location.rootPaths)

  /** Whether a table in these roots may have an index beside it. Of one on another filesystem nobody knows before it was looked up. */
  def mayHaveStore(roots: Seq[Path]): Boolean = places(roots).exists(place => if (isLocal(place)) isStoreHere(place) else known(place)._1.getOrElse(true))

  private def isStoreHere(place: Path): Boolean = new File(place.toUri.getPath, StoreFolder).isDirectory

  def places(roots: Seq[Path]): Seq[Path] =
    roots.take(MostRoots).flatMap(root => Seq(root, root.getParent)).filter(_ != null).map(withoutPartitions).distinct

  private def isRoot(place: Path, scan: FileSourceScanExec): Boolean = scan.relation.location.rootPaths.exists(withoutPartitions(_) == place)

  private def withoutPartitions(path: Path): Path =
    if (path.getName.contains("=") && path.getParent != null) withoutPartitions(path.getParent) else path

  def isLocal(place: Path): Boolean = place.toUri.getScheme == null || place.toUri.getScheme == "file"

  /** Whether there is something to fetch: an index, or the table of one. */
  private def isElsewhere(layer: LayerSession, scan: FileSourceScanExec): Boolean =
    if (layer.storeLocation.nonEmpty) (places(scan) ++ Try(new Path(layer.storeLocation)).toOption).exists(!isLocal(_))
    else places(scan).exists(place => !isLocal(place) && known(place)._1.contains(true))

  /** Index and footers from another machine are there for the next query. */
  private def fetchAhead(layer: LayerSession, scan: FileSourceScanExec): Unit =
    Footers.fetchAhead(layer, scan, conditions(scan).flatMap(_.references.map(_.name)).distinct)

  private def hasStore(layer: LayerSession, place: Path, scan: FileSourceScanExec): Boolean =
    if (isLocal(place)) {
      // Of a table that was overwritten with its indexes the host can tell that they are gone.
      if (isStoreHere(place)) stores.put(place, (Some(true), 0L))
      known(place)._1.contains(true)
    } else {
      // A query does not wait for another machine: it is looked up meanwhile, for the next one.
      val (found, at) = known(place)
      if (System.currentTimeMillis() - at > LookAgainMs) {
        stores.put(place, (found, System.currentTimeMillis()))
        val conf = scan.relation.sparkSession.sessionState.newHadoopConfWithOptions(scan.relation.options)
        PlannerHost.background.execute { () =>
          // Where that fails the host's own look says why; above a table one may have no rights, and needs none.
          val there = Try(place.getFileSystem(conf).exists(new Path(place, StoreFolder))).getOrElse(isRoot(place, scan))
          stores.put(place, (Some(there), System.currentTimeMillis()))
          if (there) fetchAhead(layer, scan)
        }
      }
      found.getOrElse(true)
    }

  private def known(place: Path): (Option[Boolean], Long) = stores.getOrDefault(place, (None, 0L))

  /**
   * What the query log has of a scan's conditions, and of those on partition columns: all of them, whatever an index could say, and literals
   * as people write them. `filter`: the one right above the scan.
   */
  def asked(scan: FileSourceScanExec, filter: Option[FilterExec]): Seq[(String, Seq[ObjectNode])] = {
    def told(conditions: Seq[Expression], columns: AttributeSet) =
      conditions.flatMap(splitConjunctivePredicates).filterNot(c => Literals.isOfSparks(c) || c.exists(_.isInstanceOf[RuntimeFilter])).map { c =>
        val found = test(c, columns, asWritten = true)
        if (c.exists(_.isInstanceOf[PlanExpression[_]])) found.put("subquery", true) else found
      }
    val (partition, data) = scan.output.partition(c => scan.relation.partitionSchema.fieldNames.contains(c.name))
    Seq("asked" -> told(inOrder(scan, filter), AttributeSet(data) -- AttributeSet(scan.fileConstantMetadataColumns)), "of_partitions" -> told(scan.partitionFilters, AttributeSet(partition)))
  }

  def test(e: Expression, columns: AttributeSet, asWritten: Boolean = false): ObjectNode = {
    def joined(op: String, parts: Expression*) = Json.obj("op" -> op, "args" -> parts.map(test(_, columns, asWritten)))
    def leaf(op: String, column: Attribute, more: (String, Any)*) =
      if (!columns.contains(column)) other(column)
      else Json.obj(Seq("op" -> op, "column" -> column.name, "type" -> column.dataType.catalogString) ++ more: _*)
    def told(value: Literal, column: Attribute) = if (asWritten) Some(written(value)) else key(value, column.dataType)
    def compared(op: String, column: Attribute, value: Literal) = told(value, column).fold(other(column))(k => leaf(op, column, "value" -> k))
    def listed(column: Attribute, values: Iterable[Literal]) = {
      val keys = if (values.size > (if (asWritten) MostWritten else MostValues)) Nil else values.flatMap(told(_, column))
      if (keys.size == values.size) leaf("in", column, "values" -> keys) else if (asWritten) leaf("in", column, "count" -> values.size) else other(column)
    }
    def other(of: Expression) = Json.obj("op" -> "other", "columns" -> of.references.filter(columns.contains).map(_.name).toSeq.distinct)
    e match {
      // JSON of some depth can't be written.
      case _: And if asWritten => joined("and", splitConjunctivePredicates(e): _*)
      case _: Or if asWritten => joined("or", splitDisjunctivePredicates(e): _*)
      case And(left, right) => joined("and", left, right)
      case Or(left, right) => joined("or", left, right)
      case Not(child) => joined("not", child)
      case column: Attribute if column.dataType == BooleanType => leaf("eq", column, "value" -> 1L)
      case IsNull(column: Attribute) => leaf("is_null", column)
      case IsNotNull(column: Attribute) => leaf("is_not_null", column)
      case In(column: Attribute, values) if values.forall(_.isInstanceOf[Literal]) => listed(column, values.map(_.asInstanceOf[Literal]))
      case InSet(column: Attribute, values) => listed(column, values.toSeq.map(Literal(_, column.dataType)))
      case StartsWith(column: Attribute, value: Literal) => compared("prefix", column, value)
      case EndsWith(column: Attribute, value: Literal) => compared("suffix", column, value)
      case Contains(column: Attribute, value: Literal) => compared("contains", column, value)
      case Like(column: Attribute, Literal(pattern: UTF8String, _), escape) =>
        leaf("like", column, "pattern" -> pattern.toString, "escape" -> escape.toString)
      case comparison: BinaryComparison => (comparison.left, comparison.right, word(comparison)) match {
        case (column: Attribute, value: Literal, Some((op, _))) => compared(op, column, value)
        case (value: Literal, column: Attribute, Some((_, turned))) => compared(turned, column, value)
        case _ => other(e)
      }
      case _ => other(e)
    }
  }

  /** As it stands, and with its sides exchanged. */
  private def word(comparison: BinaryComparison): Option[(String, String)] = Option(comparison).collect {
    case _: EqualTo => ("eq", "eq")
    case _: EqualNullSafe => ("same", "same")
    case _: LessThan => ("lt", "gt")
    case _: LessThanOrEqual => ("le", "ge")
    case _: GreaterThan => ("gt", "lt")
    case _: GreaterThanOrEqual => ("ge", "le")
  }

  /** A literal for people: numbers and flags as such, moments in UTC, all else as text. */
  private def written(literal: Literal): Any = (literal.value, literal.dataType) match {
    case (null, _) => null
    case (number: java.lang.Number, _: IntegralType) => number.longValue
    case (number: java.lang.Number, FloatType | DoubleType) if !number.doubleValue.isNaN && !number.doubleValue.isInfinite => number.toString.toDouble
    case (flag: Boolean, _) => flag
    case (micros: Long, TimestampType) => DateTimeUtils.microsToInstant(micros).toString
    case _ => literal.toString
  }

  /** A literal as a key of the column's domain: a number, hexadecimal text, or null; None when it has no place there. */
  private def key(literal: Literal, column: DataType): Option[Any] = (literal.value, column) match {
    case (null, _) => Some(null)
    case _ if literal.dataType != column => None
    case (value: Decimal, DecimalType.Fixed(_, scale)) if value.scale != scale => None
    case (value, _) if KeyDomain.isBytes(column) => Try(KeyDomain.bytesReader(column, column)(InternalRow(value), 0)).toOption.map(hex)
    case (value, _) => Try(KeyDomain.longReader(column, column).read(InternalRow(value), 0)).toOption
  }

  private def hex(bytes: Array[Byte]): String = bytes.map(b => f"$b%02x").mkString
}
