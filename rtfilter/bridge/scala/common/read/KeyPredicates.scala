package org.apache.spark.sql.execution.rtfilter

import org.apache.parquet.filter2.dictionarylevel.DictionaryFilter
import org.apache.parquet.filter2.predicate._
import org.apache.parquet.schema.{MessageType, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation.{DateLogicalTypeAnnotation, IntLogicalTypeAnnotation}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.{INT32, INT64}
import org.apache.spark.sql.types.{DataType, DateType, IntegralType}
import scala.jdk.CollectionConverters._

/**
 * A filled filter on a column of the scan, as the Parquet reader gets it: `values` tests a value, `near` a stretch of values. `rowsTested`: whether
 * rows are tested above it too.
 * `decodedFirst`: whether rows are chosen by it before other columns are decoded.
 */
final case class KeyPredicate(column: String, kind: DataType, values: KeyTest, near: KeyRanges, testDictionaries: Boolean, rowsTested: Boolean,
    decodedFirst: Boolean) {
  def isDate: Boolean = kind == DateType

  /** The file's column, or None where it is not surely the same kind of number. */
  def field(schema: MessageType, caseSensitive: Boolean): Option[PrimitiveType] = {
    val matching = schema.getFields.asScala.filter(f => if (caseSensitive) f.getName == column else f.getName.equalsIgnoreCase(column))
    matching.toSeq match {
      case Seq(field) if field.isPrimitive && !field.isRepetition(Type.Repetition.REPEATED) && sameNumbers(field.asPrimitiveType) &&
          hasOwnPath(schema, field.getName) => Some(field.asPrimitiveType)
      case _ => None
    }
  }

  /** The predicate for one file. */
  def in(schema: MessageType, caseSensitive: Boolean): Option[FilterPredicate] = {
    val predicate = field(schema, caseSensitive).flatMap(physical)
    if (testDictionaries) predicate else predicate.map(new NotOnDictionaries(_))
  }

  /**
   * Whether no other leaf has this dotted path. parquet-java 1.17 finds a column's dictionary by it, so a column named `a.b` may be
   * judged by the dictionary of field `b` of the struct `a`.
   */
  private def hasOwnPath(schema: MessageType, name: String): Boolean =
    !name.contains('.') || schema.getPaths.asScala.count(_.mkString(".") == name) == 1

  /** A file may store wider numbers than the column's type: Spark then cuts bits off, and the stored ones say nothing of what it shows. */
  private def sameNumbers(field: PrimitiveType): Boolean = field.getLogicalTypeAnnotation match {
    case null => !isDate && bits(field) <= kind.defaultSize * 8
    case whole: IntLogicalTypeAnnotation => !isDate && whole.isSigned && whole.getBitWidth <= kind.defaultSize * 8
    case _: DateLogicalTypeAnnotation => isDate
    case _ => false
  }

  private def bits(field: PrimitiveType): Int = if (field.getPrimitiveTypeName == INT64) 64 else 32

  private def physical(field: PrimitiveType): Option[FilterPredicate] = field.getPrimitiveTypeName match {
    case INT32 => Some(FilterApi.userDefined(SparkFilterApi.intColumn(Array(field.getName)), new IntKeys(values, near)))
    case INT64 => Some(FilterApi.userDefined(SparkFilterApi.longColumn(Array(field.getName)), new BigintKeys(values, near)))
    case _ => None
  }
}

object KeyPredicate {
  def takes(kind: DataType): Boolean = kind match { case _: IntegralType | DateType => true; case _ => false }
}

/** Null never equals a key, so a null value is not kept. */
final class IntKeys(values: KeyTest, near: KeyRanges) extends UserDefinedPredicate[Integer] with Serializable {
  override def keep(value: Integer): Boolean = value != null && values.contains(value.longValue)
  override def canDrop(s: Statistics[Integer]): Boolean = !near.overlaps(s.getMin.longValue, s.getMax.longValue)
  override def inverseCanDrop(s: Statistics[Integer]): Boolean = false
}

final class BigintKeys(values: KeyTest, near: KeyRanges) extends UserDefinedPredicate[java.lang.Long] with Serializable {
  override def keep(value: java.lang.Long): Boolean = value != null && values.contains(value)
  override def canDrop(s: Statistics[java.lang.Long]): Boolean = !near.overlaps(s.getMin, s.getMax)
  override def inverseCanDrop(s: Statistics[java.lang.Long]): Boolean = false
}

/**
 * Statistics and column indexes see the predicate, dictionaries do not: reading and testing every dictionary of a scan costs more
 * than it saves unless few keys are sought. parquet-java 1.17 visits a predicate once per level, with a visitor class per level.
 */
final class NotOnDictionaries(inner: FilterPredicate) extends FilterPredicate with Serializable {
  override def accept[R](visitor: FilterPredicate.Visitor[R]): R = visitor match {
    case _: DictionaryFilter => java.lang.Boolean.FALSE.asInstanceOf[R] // "can drop": no
    case _ => inner.accept(visitor) match {
      case same if same.asInstanceOf[AnyRef] eq inner => this.asInstanceOf[R] // rewriters hand the predicate back
      case result => result
    }
  }
  override def toString: String = inner.toString
}
