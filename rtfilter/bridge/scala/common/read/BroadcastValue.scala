package org.apache.spark.sql.execution.rtfilter

import java.util.{Collections, WeakHashMap}
import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.serializer.JavaSerializer
import org.apache.spark.util.Utils

/** Something of the driver that each executor gets once. */
sealed abstract class BroadcastValue[A <: AnyRef] extends Serializable {
  def value: A
}

/** Broadcasts are written by `spark.serializer`, and Kryo may be told to refuse classes that it does not know: then Java's bytes are sent. */
object BroadcastValue {
  private val decoded = Collections.synchronizedMap(new WeakHashMap[Array[Byte], AnyRef])

  def apply[A <: AnyRef](context: SparkContext, value: A): BroadcastValue[A] =
    if (SparkEnv.get.serializer.isInstanceOf[JavaSerializer]) new AsObject(context.broadcast(value.asInstanceOf[AnyRef]))
    else new AsBytes(context.broadcast(Utils.serialize(value)))

  private final class AsObject[A <: AnyRef](sent: Broadcast[AnyRef]) extends BroadcastValue[A] {
    override def value: A = sent.value.asInstanceOf[A]
  }

  private final class AsBytes[A <: AnyRef](sent: Broadcast[Array[Byte]]) extends BroadcastValue[A] {
    override def value: A = {
      val bytes = sent.value
      decoded.synchronized {
        if (!decoded.containsKey(bytes)) decoded.put(bytes, Utils.deserialize[AnyRef](bytes, classOf[BroadcastValue[_]].getClassLoader))
        decoded.get(bytes).asInstanceOf[A]
      }
    }
  }
}
