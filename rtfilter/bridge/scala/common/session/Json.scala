package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import scala.jdk.CollectionConverters._

private[rtfilter] object Json {
  val mapper = new ObjectMapper()

  def obj(fields: (String, Any)*): ObjectNode = fields.foldLeft(mapper.createObjectNode()) { case (node, (name, value)) => put(node, name, value); node }

  def put(node: ObjectNode, name: String, value: Any): Unit = node.set[JsonNode](name, of(value))

  def of(value: Any): JsonNode = value match {
    case null | None => mapper.getNodeFactory.nullNode()
    case Some(inner) => of(inner)
    case node: JsonNode => node
    case text: String => mapper.getNodeFactory.textNode(text)
    case flag: Boolean => mapper.getNodeFactory.booleanNode(flag)
    case number: Int => mapper.getNodeFactory.numberNode(number)
    case number: Long => mapper.getNodeFactory.numberNode(number)
    case number: Double => mapper.getNodeFactory.numberNode(number)
    case big: BigInt => mapper.getNodeFactory.numberNode(big.bigInteger)
    case map: Map[_, _] => val node = mapper.createObjectNode(); map.foreach { case (k, v) => put(node, k.toString, v) }; node
    case items: Iterable[_] => array(items)
    case other => throw new IllegalArgumentException(s"no JSON form of ${other.getClass.getName}")
  }

  def array(items: Iterable[_]): ArrayNode = items.foldLeft(mapper.createArrayNode())((node, item) => node.add(of(item)))

  def parse(text: String): ObjectNode = mapper.readTree(text).asInstanceOf[ObjectNode]

  def parse(text: Array[Byte]): ObjectNode = mapper.readTree(text).asInstanceOf[ObjectNode]

  def items(node: JsonNode, field: String): Seq[JsonNode] = Option(node.get(field)).map(_.elements().asScala.toSeq).getOrElse(Nil)
}
